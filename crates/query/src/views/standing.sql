-- The check that stands for a branch, an end and a kind: the one under the digest in force, else the newest. One that had
-- an oracle's ledger comes before those that had none.
select
  session_id, branch, "end", kind,
  first_value(digest order by {informed} desc, at desc, worse desc, digest) as digest,
  first_value(result order by {informed} desc, at desc, worse desc, digest) as result,
  first_value(findings order by {informed} desc, at desc, worse desc, digest) as findings
from weighed_checks
where {in_force}
group by session_id, branch, "end", kind
