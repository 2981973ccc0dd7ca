-- Why are sessions in no supervised training set?
-- The first reason that holds, in the order of an export's own; `ready` waits only for the next export.
select
  reason,
  count(*) as sessions,
  min(session_id) as for_example
from (
  select
    s.session_id,
    case
      when s.retracted then 'retracted'
      when array_has(s.flags, 'dirty_start') then 'dirty_start'
      when array_has(s.flags, 'flaky') then 'flaky'
      when coalesce(s.outcome, s.recorded_outcome) <> 'flipped' then coalesce(s.outcome, s.recorded_outcome)
      when s.outcome is null then 'signatures not looked at'
      when s.secrets = 'found' then 'secret'
      when s.secrets is null then 'secrets not looked at'
      when s.rejects > 0 then 'reject'
      else 'ready'
    end as reason
  from sessions s
  left join (
    select distinct session_id, branch from exports where "set" = 'sft'
  ) e on e.session_id = s.session_id and e.branch = s.branch
  where e.session_id is null
)
group by reason
order by sessions desc, reason
