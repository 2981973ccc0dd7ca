-- `current`: found under the digest in force, at the end where the branch stands now. `exported_to`: the training sets that
-- hold a row of the branch and were written without this finding: under other rules, or from fewer bytes.
select
  b.org, b.repo, f.session_id, f.branch, f."end", f.kind, f.digest, f.at,
  f.finding['rule'] as rule, f.finding['severity'] as severity, f.finding['line'] as line,
  f.finding['event_id'] as event_id, f.finding['field'] as field,
  f.finding['start'] as span_start, f.finding['end'] as span_end,
  f.finding['fingerprint'] as fingerprint, f.finding['detail'] as detail,
  coalesce(f."end" = b."end" and f.digest = n.digest, false) as current,
  f.exported_to
from (
  select
    c.session_id, c.branch, c."end", c.kind, c.digest, c.at, unnest(c.findings) as finding, x.exported_to
  from weighed_checks c
  left join (
    select w.session_id, w.branch, w."end", w.digest, array_agg(distinct e.out order by e.out) as exported_to
    from weighed_checks w
    join exports e on e.session_id = w.session_id and e.branch = w.branch
    where w.kind = 'secrets' and w.worse
      and (e."end" < w."end" or e.rules_digest is distinct from split_part(w.digest, '+', 1))
    group by w.session_id, w.branch, w."end", w.digest
  ) x
    on c.kind = 'secrets' and x.session_id = c.session_id and x.branch = c.branch and x."end" = c."end"
    and x.digest = c.digest
) f
left join (
  select session_id, branch, max(org) as org, max(repo) as repo, max("end") as "end"
  from segments group by session_id, branch
) b on b.session_id = f.session_id and b.branch = f.branch
left join standing n
  on n.session_id = f.session_id and n.branch = f.branch and n."end" = f."end" and n.kind = f.kind
