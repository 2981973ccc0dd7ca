-- One row a key of checks: of two rows for one key the worse counts. A row that ends at 0 is the mark of a run, and about
-- no session.
select
  session_id, branch, "end", kind, digest,
  max(at) as at,
  bool_or(worse) as worse,
  first_value(result order by worse desc, at desc, result) as result,
  first_value(findings order by worse desc, at desc, result) as findings
from (
  select *, case kind when 'secrets' then result <> 'clean' else result <> 'flipped' end as worse from checks
  where "end" > 0
)
group by session_id, branch, "end", kind, digest
