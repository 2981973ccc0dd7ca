-- One row a session that something retracts: all its branches, or those that say so themselves.
select
  ref_session_id as session_id,
  bool_or({listed}) as whole,
  array_agg(branch) as branches
from corrections s
where in_force
group by ref_session_id
