-- Which sessions with verdicts are unsigned, do not verify, or have not been looked at?
select
  session_id,
  branch,
  repo_url,
  task_id,
  recorded_outcome,
  outcome,
  case
    when outcome is null then 'not looked at'
    when array_has(flags, 'unsigned') then 'unsigned'
    else 'does not verify'
  end as why,
  array_to_string(flags, ' ') as flags
from sessions
where verdicts > 0 and not verified
order by started_at desc, session_id, branch
