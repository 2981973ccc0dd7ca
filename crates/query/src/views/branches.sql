-- One row a branch: how far it goes, and what its first segment says.
select
  session_id, branch,
  max("end") as "end",
  count(*) as segments,
  min(k) as first_k,
  max(source) filter (where "offset" = 0) as source,
  max(host) filter (where "offset" = 0) as host
from segments
group by session_id, branch
