create or replace function countersign.execute_plan(p_token text, p_statement text, p_params jsonb, p_caller_id text)
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
  v_started constant timestamptz := clock_timestamp();
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_run record;
  v_claim record;
  v_token uuid;
  v_context text;
begin
  get diagnostics v_context = pg_context;
  perform countersign_data.refuse_nested_call(v_context, 'execute_plan');
  perform countersign_data.is_durable_call();
  perform countersign_data.refuse_planted_objects();
  v_call.tool := 'execute_plan';
  v_call.caller_id := p_caller_id;
  v_call.statement := p_statement;
  v_call.params_redacted := countersign_data.param_shape(p_params);

  v_token := countersign_data.token_of(p_token);
  if not exists (select from countersign_data.plan q where q.token = v_token and q.login = session_user) then
    return countersign_data.record_refusal(v_call, countersign_data.refusal_unknown_token());
  end if;
  v_claim := countersign_data.claim_plan(v_token);
  if v_claim.is_held then
    return countersign_data.record_refusal(v_call, countersign_data.refusal_plan_is_held(v_token, 'Wait, then call plan_status.'));
  end if;
  v_plan := v_claim.plan;
  v_call := countersign_data.event_of(v_plan);
  v_call.tool := 'execute_plan';
  v_call.caller_id := p_caller_id;

  v_refusal := countersign_data.check_state(v_plan);
  if v_refusal.code is not null then
    return countersign_data.refuse_by_state(v_plan, v_call, v_refusal);
  elsif v_plan.kind = 'host' then
    return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('INVALID_ARGUMENTS',
      'This plan is of something outside the database. Nothing was executed.', 'The program that asked for it executes it: countersign.begin_execute.'));
  elsif p_statement is distinct from v_plan.statement or p_params is distinct from v_plan.params then
    return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('STATEMENT_MISMATCH',
      'statement or params differ from what was previewed. Nothing was executed.',
      'Pass statement and params exactly as the preview answered them; for another statement preview again.',
      jsonb_build_object('plan_token', v_plan.token, 'status', v_plan.state, 'previewed', jsonb_build_object('statement', v_plan.statement, 'params', v_plan.params))));
  end if;
  v_refusal := countersign_data.check_rejection(v_plan);
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  elsif v_plan.state = 'awaiting_approval' then
    return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('AWAITING_APPROVAL', 'A human has not decided yet.',
      'Call execute_plan again with the same arguments; it waits for the decision. Tell the human how to decide: ' || (countersign_data.plan_shown(v_plan)->'approval'->>'cli'),
      countersign_data.plan_shown(v_plan) - array['params', 'sample_rows', 'changes', 'statement']));
  end if;

  v_run := countersign_data.run_plan(v_plan);
  v_call.duration_ms := extract(milliseconds from clock_timestamp() - v_started)::integer;
  v_refusal := v_run.refusal;
  if v_refusal.code is null then
    if v_plan.state = 'approved' then
      v_call.approved_by := countersign_data.recorded_decision(v_plan.token)->>'by';
    end if;
    v_call.actual_rows := v_run.affected;
    v_plan := countersign_data.move_plan(v_plan, v_call, array['executing', 'executed']);
    return countersign_data.outcome_ok('Executed: what was previewed is now committed.', jsonb_build_object(
      'plan_token', v_plan.token, 'status', 'executed', 'affected_rows', v_run.affected, 'total_rows', v_plan.total_rows,
      'effects', v_plan.shown->'effects', 'approved_by', v_call.approved_by, 'executed_at', clock_timestamp(), 'duration_ms', v_call.duration_ms));
  elsif v_run.may_retry then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  v_call.code := v_refusal.code;
  v_call.note := v_refusal.message;
  if v_refusal.code in ('ROWSET_CHANGED', 'EFFECTS_CHANGED') then
    v_plan := countersign_data.move_plan(v_plan, v_call, array['stale']);
  else
    v_plan := countersign_data.move_plan(v_plan, v_call, array['executing', 'failed']);
  end if;
  v_refusal.detail := v_refusal.detail || jsonb_build_object('plan_token', v_plan.token, 'status', v_plan.state);
  return v_refusal;
end
$$;
comment on function countersign.execute_plan(text, text, jsonb, text) is
  'Agent: commits exactly what was previewed, or refuses. The effect, the state and the events are one transaction.';
