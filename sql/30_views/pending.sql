create or replace view countersign.pending as
select left(q.token::text, 8) as plan,
       countersign_data.visible_text(q.tool) as tool,
       q.total_rows as rows,
       date_trunc('second', clock_timestamp() - q.created_at) as waiting,
       date_trunc('second', q.expires_at - clock_timestamp()) as time_left,
       q.login as requested_by,
       countersign_data.wrapped(left(countersign_data.visible_text(left(q.statement, 300)), 300), 62) as statement,
       countersign_data.wrapped(left(countersign_data.visible_text(q.reason), 300), 62) as agent_says,
       countersign_data.wrapped(countersign_data.visible_text(array_to_string(q.gate, E'\n')), 62) as why_it_waits,
       q.token as plan_token,
       q.created_at as requested_at,
       q.expires_at
from countersign_data.plan q
where q.state = 'awaiting_approval' and q.expires_at > clock_timestamp()
order by q.created_at;
comment on view countersign.pending is 'Approver: what waits for a human, oldest first. select * from countersign.show(''<plan>'') tells all of one.';
