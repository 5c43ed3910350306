create or replace view countersign.executing as
select left(q.token::text, 8) as plan,
       countersign_data.visible_text(q.tool) as tool,
       q.login as requested_by,
       date_trunc('second', clock_timestamp() - e.ts) as since,
       left(countersign_data.visible_text(left(q.statement, 200)), 200) as statement,
       q.token as plan_token
from countersign_data.plan q
join countersign_data.event e on e.chain = q.token and e.seq = q.state_seq
where q.state = 'executing'
order by e.ts;
comment on view countersign.executing is 'Approver: plans between begin and confirmation. Statement plans are never seen here: they run in one transaction.';
