create or replace function countersign_data.store_plan(p_plan countersign_data.plan, p_duration_ms integer)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  p_plan.token := gen_random_uuid();
  p_plan.login := session_user;
  p_plan.created_at := clock_timestamp();
  p_plan.fingerprint := countersign_data.plan_fingerprint(p_plan);
  begin
    p_plan.gate := countersign_data.gate_reasons(p_plan);
  exception when lock_not_available then
    p_plan.token := null;
    return countersign_data.record_refusal(countersign_data.event_of(p_plan), countersign_data.outcome_refused('LOCK_TIMEOUT',
      'Another preview of this login is being judged, in a transaction that has not ended.', 'Try again in a moment.'));
  end;
  p_plan.required_approvals := (select max(countersign_data.policy_number('required_approvals', t)) from countersign_data.tables_touched(p_plan) t);
  p_plan.state := case when p_plan.gate = '{}' then 'previewed' else 'awaiting_approval' end;
  p_plan.expires_at := clock_timestamp() + countersign_data.life_of_plan(p_plan);
  p_plan := countersign_data.insert_plan(p_plan, p_duration_ms);
  return countersign_data.outcome_ok(
    case when p_plan.gate = '{}' then 'Previewed; it may run now.' else 'Previewed; a human must decide.' end
    || case when p_plan.kind = 'host' then ' Call begin_execute with this plan_token and payload'
            else ' Call execute_plan with this plan_token, statement and params' end
    || case when p_plan.gate = '{}' then '.' when p_plan.kind = 'host' then ' once it is approved.' else ': it waits for the decision.' end,
    countersign_data.plan_shown(p_plan));
end
$$;
comment on function countersign_data.store_plan(countersign_data.plan, integer) is 'Judges, stores and announces a measured plan; answers the preview.';
