select
  host, min(at) as first_at, max(at) as last_at, max(k) as last_k, count(distinct k) as batches,
  count(distinct source) as sources, count(distinct session_id) as sessions, count(*) as segments,
  sum("end" - "offset") as bytes
from segments
group by host
