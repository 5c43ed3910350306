-- Finds and locks one of the caller's own host plans. The row lock is the claim: whoever comes second reads what the first made of it.
create or replace function countersign_data.own_host_plan(
  p_verb text, p_token text, p_caller_id text, out plan countersign_data.plan, out call countersign_data.event, out refusal countersign.outcome)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_durable constant boolean := countersign_data.is_durable_call();
  v_token constant uuid := countersign_data.token_of(p_token);
  v_claim record;
begin
  call.tool := p_verb;
  call.channel := 'host';
  call.caller_id := p_caller_id;
  if not exists (select from countersign_data.plan q where q.token = v_token and q.login = session_user) then
    refusal := countersign_data.refusal_unknown_token();
    return;
  end if;
  v_claim := countersign_data.claim_plan(v_token);
  if v_claim.is_held then
    refusal := countersign_data.refusal_plan_is_held(v_token, 'Try again in a moment.');
    return;
  end if;
  plan := v_claim.plan;
  call := countersign_data.event_of(plan);
  call.channel := 'host';
  call.caller_id := coalesce(p_caller_id, plan.caller_id);
  if plan.kind <> 'host' then
    refusal := countersign_data.outcome_refused('INVALID_ARGUMENTS', 'This plan is a statement, not something a host does.', 'Call execute_plan: the database runs it itself.');
  end if;
end
$$;
comment on function countersign_data.own_host_plan(text, text, text) is 'One of the caller''s own host plans, locked, with an event about it; or the refusal.';
