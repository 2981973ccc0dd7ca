-- Which rules find secrets, in how many sessions, and how many different ones?
select
  rule,
  severity,
  count(*) as findings,
  count(distinct fingerprint) as secrets,
  count(distinct session_id) as sessions,
  count(distinct repo) as repos,
  min(session_id) as for_example
from findings
where kind = 'secrets' and current
group by rule, severity
order by findings desc, rule
