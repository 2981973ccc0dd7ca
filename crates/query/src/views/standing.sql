-- The check that stands for a branch, an end and a kind: the one under the digest in force; where none is named, the one
-- under the digest of the newest run, else the newest. One that had an oracle's ledger comes before those that had none.
select
  session_id, branch, "end", kind,
  first_value(digest order by by_newest desc, informed desc, at desc, worse desc, digest) as digest,
  first_value(result order by by_newest desc, informed desc, at desc, worse desc, digest) as result,
  first_value(findings order by by_newest desc, informed desc, at desc, worse desc, digest) as findings
from (
  select
    w.*,
    coalesce(split_part(w.digest, '{ledger}', 1) = n.digest, false) as by_newest,
    w.digest like '%{ledger}%' as informed
  from weighed_checks w
  left join newest_run n on n.kind = w.kind
)
where {in_force}
group by session_id, branch, "end", kind
