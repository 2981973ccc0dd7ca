-- One row a branch of a session. `outcome` is worked out from signatures under the trust file in force, NULL when
-- nobody looked at this end; `recorded_outcome` is what the records say, `claimed_outcome` what the gate said.
-- `evidence_flag`: the first flag, in the order of the records, that keeps it out of a set for which signatures are
-- required. `verified`: the outcome rests on signatures: a flip that is proven, or verdicts that all verify.
select
  s.session_id, s.branch, s.org, s.repo, s.date, s.repo_url, s.harness, s.version, s.model, s.task_id, s.base_commit,
  s.start_diff_sha256, s.started_at, s.ended_at, s.ended_by, s.attempts,
  s.lines, s.events, s.rejects, s.messages, s.tool_calls, s.verdicts,
  s."end" as bytes, b.segments, s.k, b.first_k, s.at, b.source, b.host,
  s.claimed_outcome, s.recorded_outcome,
  sig.result as outcome,
  coalesce(
    (sig.result = 'flipped' and not array_has(words(sig.findings), 'unsigned'))
      or (s.verdicts > 0 and coalesce(cardinality(array_except(
        words(sig.findings),
        words('finished_late', 'verdict_missing', 'dirty_start', 'flaky', 'tests_changed')
      )), 0) = 0 and sig.result is not null),
    false
  ) as verified,
  case
    when sig.findings[1]['rule'] not in ('finished_late', 'verdict_missing') then sig.findings[1]['rule']
    when sig.findings[2]['rule'] not in ('finished_late', 'verdict_missing') then sig.findings[2]['rule']
    else sig.findings[3]['rule']
  end as evidence_flag,
  sec.result as secrets,
  case when sec.result is not null then coalesce(cardinality(sec.findings), 0) end as secret_findings,
  coalesce(r.whole or array_has(r.branches, s.branch), false) as retracted,
  words(
    s.flags,
    sig.findings,
    case when sec.result <> 'clean' then 'secret' end,
    case when coalesce(r.whole or array_has(r.branches, s.branch), false) then 'retracted' end
  ) as flags
from segments s
join branches b on b.session_id = s.session_id and b.branch = s.branch and b."end" = s."end"
left join (
  select session_id, branch, "end", first_value(result) as result, first_value(findings) as findings
  from standing where kind = 'signatures' group by session_id, branch, "end"
) sig on sig.session_id = s.session_id and sig.branch = s.branch and sig."end" = s."end"
left join (
  select session_id, branch, "end", first_value(result) as result, first_value(findings) as findings
  from standing where kind = 'secrets' group by session_id, branch, "end"
) sec on sec.session_id = s.session_id and sec.branch = s.branch and sec."end" = s."end"
left join retractions r on r.session_id = s.session_id
