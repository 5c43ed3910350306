-- Whose transaction holds a plan's row. A row lock is not in pg_locks while nobody waits for it, but whoever took one holds
-- a lock on the table, too; and where the row names a transaction that does (xmax, which may be something else), it is that one.
create or replace function countersign_data.refusal_plan_is_held(p_token uuid, p_hint text)
returns countersign.outcome
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pids integer[];
begin
  with holder as (
    select distinct l.pid, exists (select from pg_locks x join countersign_data.plan q on q.xmax = x.transactionid
                                   where q.token = p_token and x.pid = l.pid and x.locktype = 'transactionid' and x.granted) as named
    from pg_locks l
    where l.relation = 'countersign_data.plan'::regclass and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.granted and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database()))
  select array_agg(h.pid order by h.pid) into v_pids from holder h where h.named or not exists (select from holder n where n.named);
  return countersign_data.outcome_refused('ALREADY_EXECUTING',
    'The plan is being executed or decided at this moment' || case cardinality(v_pids)
      when 1 then format(', in a transaction of the session with pid %s that has not ended.', v_pids[1])
      else coalesce(format(', in a transaction of one of the sessions with pids %s that has not ended.', array_to_string(v_pids, ', ')), '.') end,
    p_hint || case when v_pids is null then ''
      else format(' If it stays so, an administrator looks what it does and ends it: select pid, usename, state, xact_start from pg_stat_activity where pid in (%s); select pg_terminate_backend(<pid>);', array_to_string(v_pids, ', ')) end);
end
$$;
comment on function countersign_data.refusal_plan_is_held(uuid, text) is 'ALREADY_EXECUTING for a plan whose row is locked, naming the sessions that may hold it.';
