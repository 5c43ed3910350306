-- Finds and locks one of the caller's own host plans. The row lock is the claim: whoever comes second reads what the first made of it.
create or replace function countersign_data.own_host_plan(
  p_verb text, p_token text, p_caller_id text, out plan countersign_data.plan, out call countersign_data.event, out refusal countersign.outcome)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_durable constant boolean := countersign_data.is_durable_call();
  v_token constant uuid := countersign_data.token_of(p_token);
begin
  call.tool := p_verb;
  call.channel := 'host';
  call.caller_id := p_caller_id;
  -- nearly always nobody else is at it; only a wait needs a limit, and a subtransaction to tell of it
  select * into plan from countersign_data.plan q where q.token = v_token and q.login = session_user for update skip locked;
  if plan.token is null then
    begin
      perform set_config('lock_timeout', countersign_data.policy_milliseconds('lock_timeout', 0) || 'ms', true);
      select * into plan from countersign_data.plan q where q.token = v_token and q.login = session_user for update;
    exception when lock_not_available then
      refusal := countersign_data.outcome_refused('ALREADY_EXECUTING', 'This plan is being begun, ended or decided at this moment.', 'Try again in a moment.');
      return;
    end;
  end if;
  if plan.token is null then
    refusal := countersign_data.refusal_unknown_token();
    return;
  end if;
  call := countersign_data.event_of(plan);
  call.channel := 'host';
  call.caller_id := coalesce(p_caller_id, plan.caller_id);
  if plan.kind <> 'host' then
    refusal := countersign_data.outcome_refused('INVALID_ARGUMENTS', 'This plan is a statement, not something a host does.', 'Call execute_plan: the database runs it itself.');
  end if;
end
$$;
comment on function countersign_data.own_host_plan(text, text, text) is 'One of the caller''s own host plans, locked, with an event about it; or the refusal.';
