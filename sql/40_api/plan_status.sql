create or replace function countersign.plan_status(p_token text, p_caller_id text)
returns countersign.outcome
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
set jit = off
as $$
declare
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_state text;
begin
  v_call.tool := 'plan_status';
  v_call.caller_id := p_caller_id;
  select * into v_plan from countersign_data.plan q where q.token = countersign_data.token_of(p_token) and q.login = session_user;
  if v_plan.token is null then
    return countersign_data.record_refusal(v_call, countersign_data.refusal_unknown_token());
  end if;
  v_state := countersign_data.state_now(v_plan);
  v_call.status := 'read';
  v_call.note := 'plan ' || v_plan.token;
  perform countersign_data.record_event(v_call);
  return countersign_data.outcome_ok(
    case when v_plan.kind = 'host' then
      case v_state
        when 'previewed' then 'It may run now: call begin_execute.'
        when 'awaiting_approval' then 'A human has not decided yet.'
        when 'approved' then 'Approved: call begin_execute.'
        when 'executed' then 'Done; outcome says when.'
        when 'rejected' then 'A human rejected it; decision says why. Do not repeat it.'
        when 'executing' then 'It was begun, and nobody has said yet how it ended.'
        when 'failed' then 'It was begun and not done; it may be begun again.'
        else 'Its time is over: create a new plan.' end
    else case v_state
      when 'previewed' then 'It may run now: call execute_plan.'
      when 'awaiting_approval' then 'A human has not decided yet: call execute_plan, it waits for the decision.'
      when 'approved' then 'Approved: call execute_plan.'
      when 'executed' then 'Executed; outcome says what it did.'
      when 'rejected' then 'A human rejected it; decision says why. Do not repeat it.'
      when 'executing' then 'It is being executed.'
      else 'It is over (' || v_state || '): preview again.' end end,
    jsonb_build_object('plan_token', v_plan.token, 'status', v_state, 'tool', v_plan.tool, 'statement', v_plan.statement, 'params', v_plan.params,
      'affected_rows', v_plan.affected_rows, 'total_rows', v_plan.total_rows, 'effects', v_plan.shown->'effects',
      'requested_at', v_plan.created_at, 'expires_at', v_plan.expires_at, 'gate', to_jsonb(v_plan.gate),
      'decision', countersign_data.recorded_decision(v_plan.token), 'outcome', countersign_data.recorded_outcome(v_plan.token)));
end
$$;
comment on function countersign.plan_status(text, text) is 'Agent: state, decision and outcome of one''s own plan. Changes nothing.';
