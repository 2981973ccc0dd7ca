-- Why are sessions in no supervised training set?
-- Each under the first reason that an export with --require-signature would give, as far as the tables tell: `ready` is the
-- most that it could add of what was looked at. `select * from held_back` names them all.
select
  reason,
  count(*) as sessions,
  min(session_id) as for_example
from held_back
group by reason
order by sessions desc, reason
