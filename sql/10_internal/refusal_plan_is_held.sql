-- Whose transaction holds a plan's row. A row lock is not in pg_locks while nobody waits for it, but the row names the
-- transaction (xmax), and pg_locks the backend of a transaction; several lockers at once are nameless.
create or replace function countersign_data.refusal_plan_is_held(p_token uuid, p_hint text)
returns countersign.outcome
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pid integer;
begin
  select l.pid into v_pid
  from countersign_data.plan q join pg_locks l on l.locktype = 'transactionid' and l.transactionid = q.xmax and l.granted
  where q.token = p_token;
  return countersign_data.outcome_refused('ALREADY_EXECUTING',
    'The plan is being executed or decided at this moment' || case when v_pid is null then '.' else format(', in a transaction of the session with pid %s that has not ended.', v_pid) end,
    p_hint || case when v_pid is null then '' else format(' If it stays so, an administrator ends that session: select pg_terminate_backend(%s);', v_pid) end);
end
$$;
comment on function countersign_data.refusal_plan_is_held(uuid, text) is 'ALREADY_EXECUTING for a plan whose row is locked, naming the session that holds it.';
