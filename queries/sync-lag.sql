-- How long ago did each host sync, and how long do its sessions take from their end to the lake?
select
  h.host,
  h.last_at,
  round((to_unixtime(now()) - to_unixtime(h.last_at)) / 3600.0, 1) as hours_ago,
  h.sessions,
  l.median_lag_hours,
  l.longest_lag_hours
from hosts h
left join (
  select host, round(median(hours), 2) as median_lag_hours, round(max(hours), 2) as longest_lag_hours
  from (
    select host, (to_unixtime(at) - to_unixtime(ended_at)) / 3600.0 as hours
    from sessions
    where ended_at is not null
  )
  group by host
) l on l.host is not distinct from h.host
order by h.last_at, h.host
