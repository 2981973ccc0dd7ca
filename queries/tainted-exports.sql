-- Which training sets hold rows of sessions in which a secret is known only now?
-- The rules are others than at the time, or the session has grown since: write those sets again.
select
  e.manifest_sha256,
  max(e.out) as out,
  e."set",
  count(distinct e.row) as rows,
  count(distinct e.session_id) as sessions,
  min(e.session_id) as for_example
from exports e
join (
  select distinct session_id, branch, "end", digest from findings where kind = 'secrets' and current
) f
  on f.session_id = e.session_id and f.branch = e.branch
where f."end" > e."end" or e.rules_digest is distinct from split_part(f.digest, '+', 1)
group by e.manifest_sha256, e."set"
order by rows desc, e.manifest_sha256, e."set"
