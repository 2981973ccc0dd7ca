-- What did the oracles say of each task?
select
  s.repo_url,
  v.task_id,
  count(distinct v.session_id) as sessions,
  count(*) filter (where v.mode = 'baseline') as baselines,
  count(*) filter (where v.mode = 'grade' and v.verdict = 'PASS') as pass,
  count(*) filter (where v.mode = 'grade' and v.verdict = 'FAIL') as fail,
  count(*) filter (where v.verdict = 'ERROR') as error,
  count(*) filter (where v.signature is null) as unsigned,
  max(v.ts) as last_at
from verdicts v
join sessions s on s.session_id = v.session_id and s.branch = v.branch
group by s.repo_url, v.task_id
order by s.repo_url, v.task_id
