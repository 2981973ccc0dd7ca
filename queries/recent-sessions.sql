-- What came in last?
select
  started_at,
  repo_url,
  session_id,
  branch,
  harness,
  model,
  task_id,
  coalesce(outcome, recorded_outcome) as outcome,
  verified,
  secrets,
  messages,
  tool_calls,
  array_to_string(flags, ' ') as flags
from sessions
order by started_at desc nulls last, session_id, branch
limit 50
