-- How many attempts does a flip take?
select
  attempts,
  count(*) as sessions,
  round(count(*) / cast(sum(count(*)) over () as double), 3) as share,
  sum(count(*)) over (order by attempts) as flipped_by_then
from (
  select v.session_id, v.branch, min(v.attempt) as attempts
  from verdicts v
  join sessions s on s.session_id = v.session_id and s.branch = v.branch
  where coalesce(s.outcome, s.recorded_outcome) = 'flipped' and not s.retracted
    and v.mode = 'grade' and v.verdict = 'PASS'
  group by v.session_id, v.branch
)
group by attempts
order by attempts
