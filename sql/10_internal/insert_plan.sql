-- The first event of a plan and its row; state, gate and times are the caller's.
create or replace function countersign_data.insert_plan(p_plan countersign_data.plan, p_duration_ms integer)
returns countersign_data.plan
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event countersign_data.event;
begin
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
     total_rows, effects, digest, row_marks, run_probe, run_locks, run_reached, run_statement, shown, gate, required_approvals, created_at, state, state_seq, state_hash, expires_at,
     data_digest, plan_ttl, approval_ttl)
  values
    (p_plan.token, p_plan.kind, p_plan.tool, p_plan.login, p_plan.caller_id, p_plan.reason, p_plan.relation, p_plan.target, p_plan.where_sql,
     p_plan.columns, p_plan.statement, p_plan.params, p_plan.fingerprint, p_plan.affected_rows, p_plan.total_rows, p_plan.effects, p_plan.digest,
     p_plan.row_marks, p_plan.run_probe, p_plan.run_locks, p_plan.run_reached, p_plan.run_statement, p_plan.shown, p_plan.gate, p_plan.required_approvals, p_plan.created_at, p_plan.state, p_plan.state_seq, p_plan.state_hash, p_plan.expires_at,
     p_plan.data_digest, p_plan.plan_ttl, p_plan.approval_ttl);
  return p_plan;
end
$$;
comment on function countersign_data.insert_plan(countersign_data.plan, integer) is 'Records the event that makes a plan, and stores the plan.';
