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
  p_plan.gate := countersign_data.gate_reasons(p_plan);
  p_plan.required_approvals := countersign_data.policy_number('required_approvals', coalesce(p_plan.relation, 0));
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
