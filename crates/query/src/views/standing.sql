-- The check that stands for a branch, an end and a kind: the one under the digest in force, else the newest.
select
  session_id, branch, "end", kind,
  first_value(digest order by at desc, worse desc, digest) as digest,
  first_value(result order by at desc, worse desc, digest) as result,
  first_value(findings order by at desc, worse desc, digest) as findings
from weighed_checks
where {in_force}
group by session_id, branch, "end", kind
