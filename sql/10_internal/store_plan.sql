create or replace function countersign_data.store_plan(p_plan countersign_data.plan, p_duration_ms integer)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event countersign_data.event;
  v_short text;
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
  p_plan.expires_at := clock_timestamp()
    + countersign_data.policy_value(case when p_plan.gate = '{}' then 'plan_ttl' else 'approval_ttl' end, coalesce(p_plan.relation, 0))::interval;

  v_event := countersign_data.event_of(p_plan);
  v_event.from_state := 'new';
  v_event.to_state := p_plan.state;
  v_event.status := p_plan.state;
  v_event.duration_ms := p_duration_ms;
  v_event := countersign_data.record_event(v_event);
  p_plan.state_seq := v_event.seq;
  p_plan.state_hash := v_event.hash;
  insert into countersign_data.plan
    (token, kind, tool, login, caller_id, reason, relation, target, where_sql, columns, statement, params, fingerprint, affected_rows,
     total_rows, effects, digest, row_marks, run_probe, run_lock, run_reached, run_statement, shown, gate, required_approvals, created_at, state, state_seq, state_hash, expires_at)
  values
    (p_plan.token, p_plan.kind, p_plan.tool, p_plan.login, p_plan.caller_id, p_plan.reason, p_plan.relation, p_plan.target, p_plan.where_sql,
     p_plan.columns, p_plan.statement, p_plan.params, p_plan.fingerprint, p_plan.affected_rows, p_plan.total_rows, p_plan.effects, p_plan.digest,
     p_plan.row_marks, p_plan.run_probe, p_plan.run_lock, p_plan.run_reached, p_plan.run_statement, p_plan.shown, p_plan.gate, p_plan.required_approvals, p_plan.created_at, p_plan.state, p_plan.state_seq, p_plan.state_hash, p_plan.expires_at);

  return countersign_data.outcome_ok(
    case when p_plan.gate = '{}' then 'Previewed; it may run now. Call execute_plan with this plan_token, statement and params.'
         else 'Previewed; a human must decide. Call execute_plan with this plan_token, statement and params: it waits for the decision.' end,
    countersign_data.plan_shown(p_plan));
end
$$;
comment on function countersign_data.store_plan(countersign_data.plan, integer) is 'Judges, stores and announces a measured plan; answers the preview.';
