-- How many sessions flip, by repository and week?
-- The rate is over sessions that were graded to an end: flipped or not. `proven_` counts verified outcomes only.
select
  repo_url,
  cast(date_trunc('week', date) as date) as week,
  count(*) as sessions,
  count(*) filter (where recorded_outcome = 'flipped') as flipped,
  count(*) filter (where recorded_outcome = 'no_flip') as not_flipped,
  round(
    count(*) filter (where recorded_outcome = 'flipped')
      / cast(nullif(count(*) filter (where recorded_outcome in ('flipped', 'no_flip')), 0) as double),
    3
  ) as flip_rate,
  count(*) filter (where verified and outcome = 'flipped') as proven_flipped,
  round(
    count(*) filter (where verified and outcome = 'flipped')
      / cast(nullif(count(*) filter (where verified and outcome in ('flipped', 'no_flip')), 0) as double),
    3
  ) as proven_flip_rate
from sessions
where task_id is not null and not retracted
group by 1, 2
order by 2 desc, 1
