-- One row a batch that brought something new; one that only repeated what was there has none.
select
  k, max(at) as at, max(source) as source, max(host) as host,
  count(distinct session_id) as sessions, count(*) as segments, sum("end" - "offset") as bytes
from segments
group by k
