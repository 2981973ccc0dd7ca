select
  org, repo, date, session_id, branch, seq, line, event_id, ts, role, text, thinking,
  json_text(ext, '/origin') as origin, agent_id, turn_id, response_id, flags, ext
from events
where type = 'message'
