select
  org, repo, date, session_id, branch, seq, line, event_id, ts, tool, call_id, input, output, status, duration_ms,
  agent_id, turn_id, response_id, flags, ext
from events
where type = 'tool_call'
