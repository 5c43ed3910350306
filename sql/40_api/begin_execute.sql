create or replace function countersign.begin_execute(p_token text, p_payload text, p_data_digest text default null, p_caller_id text default null)
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
  v_found record;
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_decision jsonb;
begin
  v_found := countersign_data.own_host_plan('begin_execute', p_token, p_caller_id);
  v_plan := v_found.plan;
  v_call := v_found.call;
  v_refusal := v_found.refusal;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  v_refusal := countersign_data.check_state(v_plan);
  if v_refusal.code is not null then
    return countersign_data.refuse_by_state(v_plan, v_call, v_refusal);
  end if;
  v_refusal := case
    -- nearly always it is the very text; else the same value may have been written in another way
    when p_payload is distinct from v_plan.statement and countersign_data.canonical_json(p_payload) is distinct from v_plan.statement then
      countersign_data.outcome_refused('PLAN_MISMATCH', 'The payload differs from what was planned. Nothing may be executed.',
        'Begin with exactly the payload the plan was created with; for another one create a new plan.')
    when v_plan.data_digest is not null and p_data_digest is distinct from v_plan.data_digest then
      countersign_data.outcome_refused('DATA_DIGEST_MISMATCH', case when p_data_digest is null then 'The plan rests on a data digest, and none was given.'
        else 'The data changed since the plan was created. Nothing may be executed.' end, 'Give the digest of the data as it is now; if it changed, create a new plan.')
    when v_plan.state = 'awaiting_approval' then
      countersign_data.outcome_refused('AWAITING_APPROVAL', 'A human has not decided yet.',
        'Wait for the decision and begin again. Tell the human how to decide: ' || (countersign_data.plan_shown(v_plan)->'approval'->>'cli'))
    when v_plan.total_rows > 0 then countersign_data.check_host_plan(v_plan)  -- the cap may have been lowered since
  end;
  if v_refusal.code is null then
    v_refusal := countersign_data.check_rejection(v_plan);
  end if;
  -- and so may the line at which a human is asked
  if v_refusal.code is null and v_plan.gate = '{}' and v_plan.total_rows > 0 and countersign_data.line_passed(v_plan) is not null then
    v_refusal := countersign_data.outcome_refused('AWAITING_APPROVAL', 'The policy changed since the plan was created. ' || countersign_data.line_passed(v_plan), 'Create a new plan: that one waits for a human.');
  end if;
  if v_refusal.code is not null then
    v_refusal.detail := v_refusal.detail || jsonb_build_object('plan_token', v_plan.token, 'status', v_plan.state, 'expires_at', v_plan.expires_at);
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  if v_plan.gate <> '{}' then
    v_decision := countersign_data.recorded_decision(v_plan.token);
    v_call.approved_by := v_decision->>'by';
  end if;
  v_plan := countersign_data.move_plan(v_plan, v_call, array['executing']);
  return countersign_data.outcome_ok('Begun: perform it now, then confirm_executed or confirm_failed.', jsonb_build_object(
    'plan_token', v_plan.token, 'status', 'executing', 'attempt', v_plan.state_seq, 'tool', v_plan.tool, 'reason', v_plan.reason, 'caller_id', v_plan.caller_id,
    'preview_count', v_plan.shown->'preview_count', 'data_digest', v_plan.data_digest, 'fingerprint', v_plan.shown->'fingerprint', 'extra', v_plan.shown->'extra',
    'requested_at', v_plan.created_at, 'decision', v_decision));
end
$$;
comment on function countersign.begin_execute(text, text, text, text) is
  'Agent: lets a host perform a plan now, once. From here on it stays executing until it is confirmed or settled, whatever crashes.';
