-- Which lines could not be read, and why?
select
  r.reason,
  count(*) as lines,
  count(distinct r.session_id) as sessions,
  sum(r.length) as bytes,
  min(s.host) as host,
  min(r.file) as in_file
from rejects r
left join sessions s on s.session_id = r.session_id and s.branch = r.branch
group by r.reason
order by lines desc, r.reason
