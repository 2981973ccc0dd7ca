-- One row a session and branch that is in no supervised set yet, with the reason that an export with --require-signature
-- would give, as far as the tables tell. `ready` is the most that such an export could add of what was looked at: it alone
-- sees whether a value is cut or cannot be rendered, whether anything is left to be trained, and whether the bytes are
-- there still.
with first_pass as (
  select session_id, branch, min(line) as line
  from verdicts
  where mode = 'grade' and verdict = 'PASS'
  group by session_id, branch
),
pass as (
  -- The oracle says how much of the trace it saw.
  select
    v.session_id, v.branch, v.line, v."offset" as starts,
    coalesce(try_cast(json_get(payload(v.signature), '/predicate/trace_bytes') as bigint), v."offset") as graded
  from verdicts v
  join first_pass f on f.session_id = v.session_id and f.branch = v.branch and f.line = v.line
),
prefix as (
  -- Lines before `line` were graded for sure: where something stands between what the oracle saw and its verdict, those
  -- up to the verdict before.
  select
    p.session_id, p.branch, p.graded,
    case when p.graded = p.starts then p.line else coalesce(max(v.line) + 1, 1) end as line
  from pass p
  left join verdicts v on v.session_id = p.session_id and v.branch = p.branch and v."offset" < p.graded
  group by p.session_id, p.branch, p.graded, p.starts, p.line
),
forked as (
  select e.session_id, e.branch
  from events e
  join prefix p on p.session_id = e.session_id and p.branch = e.branch and e.line < p.line
  where e.type = 'session_start' and e.agent_id is null and not coalesce(array_has(e.flags, 'mixed_session'), false)
    and (json_text(e.ext, '/source') = 'fork' or json_text(e.ext, '/parent_session_id') is not null)
  group by e.session_id, e.branch
),
malformed as (
  select r.session_id, r.branch
  from rejects r
  join prefix p on p.session_id = r.session_id and p.branch = r.branch and r."offset" < p.graded
  group by r.session_id, r.branch
),
leaking as (
  -- Only what a row shows: not every field, and nothing of a sub-agent.
  select f.session_id, f.branch
  from findings f
  join prefix p on p.session_id = f.session_id and p.branch = f.branch and f.line < p.line
  join events e on e.session_id = f.session_id and e.branch = f.branch and e.line = f.line
  where f.kind = 'secrets' and f.current and e.agent_id is null
    and not coalesce(array_has(e.flags, 'duplicate_event'), false)
    and (
      (e.type = 'message' and e.role is not null and f.field = '/text')
      or (e.type = 'message' and e.role = 'assistant' and f.field = '/thinking')
      or (e.type = 'tool_call' and regexp_like(f.field, '^/(input|output|tool|call_id)(/|$)'))
    )
  group by f.session_id, f.branch
)
select
  s.session_id, s.branch, s.org, s.repo, s.repo_url, s.task_id,
  coalesce(
    case when s.retracted then 'retracted' end,
    case when s.outcome is null then coalesce(nullif(s.recorded_outcome, 'flipped'), 'signatures not looked at') end,
    s.evidence_flag,
    nullif(s.outcome, 'flipped'),
    case when f.session_id is not null then 'fork' end,
    case when m.session_id is not null then 'reject' end,
    case when l.session_id is not null then 'secret' end,
    case when s.secrets is null then 'secrets not looked at' end,
    'ready'
  ) as reason
from sessions s
left join (
  select distinct session_id, branch from exports where "set" = 'sft'
) x on x.session_id = s.session_id and x.branch = s.branch
left join forked f on f.session_id = s.session_id and f.branch = s.branch
left join malformed m on m.session_id = s.session_id and m.branch = s.branch
left join leaking l on l.session_id = s.session_id and l.branch = s.branch
where x.session_id is null
