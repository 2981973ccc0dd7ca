-- Which tasks have a session that flipped and one that did not, so that a preference pair can be made?
select
  repo_url,
  task_id,
  base_commit,
  count(*) filter (where result = 'flipped') as flipped,
  count(*) filter (where result = 'no_flip') as negatives,
  bool_and(verified) as all_verified
from (
  select *, coalesce(outcome, recorded_outcome) as result
  from sessions
  where task_id is not null and not retracted
)
where result = 'flipped'
  or (result = 'no_flip' and cardinality(flags) = 0 and ended_by in ('agent', 'attempt_budget'))
group by repo_url, task_id, base_commit
having count(*) filter (where result = 'flipped') > 0 and count(*) filter (where result = 'no_flip') > 0
order by repo_url, task_id, base_commit
