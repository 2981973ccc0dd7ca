-- Which tools are called, how often, how long do they take, and how often do they fail?
select
  tool,
  count(*) as calls,
  round(count(*) / cast(sum(count(*)) over () as double), 3) as share,
  count(distinct session_id) as sessions,
  round(count(*) filter (where status = 'error') / cast(count(*) as double), 3) as error_rate,
  count(*) filter (where status = 'denied') as denied,
  approx_median(duration_ms) as median_ms
from tool_calls
group by tool
order by calls desc, tool
