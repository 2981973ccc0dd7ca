-- `in_force`: a retraction that counts. It stands in the session's own branch and came from the source of the
-- branch's first segment, or it came from a source of `corrections_from`.
select
  c.org, c.repo, c.date, c.session_id, c.branch, c.line, c.event_id, c.ts,
  c.ref_session_id, c.ref_event_id, c.action, c.reason, c.author,
  s.k, s.source, s.host,
  coalesce(
    c.action = 'retract' and c.ref_session_id is not null
      and ({listed} or (c.ref_session_id = c.session_id and s.source is not distinct from b.source)),
    false
  ) as in_force
from (
  select
    org, repo, date, session_id, branch, line, event_id, ts,
    json_text(ext, '/ref/session_id') as ref_session_id,
    json_text(ext, '/ref/event_id') as ref_event_id,
    json_text(ext, '/action') as action,
    json_text(ext, '/reason') as reason,
    json_text(ext, '/author') as author
  from events
  where type = 'correction'
) c
join segments s
  on s.session_id = c.session_id and s.branch = c.branch and c.line >= s.first_line and c.line < s.next_line
join branches b on b.session_id = c.session_id and b.branch = c.branch
