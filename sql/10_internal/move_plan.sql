-- Every state change of a plan: one event, then the cached state follows it. The caller holds the plan's row lock.
create or replace function countersign_data.move_plan(p_plan countersign_data.plan, p_event countersign_data.event)
returns countersign_data.plan
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  p_event.plan_token := p_plan.token;
  p_event.from_state := p_plan.state;
  p_event := countersign_data.record_event(p_event);
  p_plan.state := p_event.to_state;
  p_plan.state_seq := p_event.seq;
  p_plan.state_hash := p_event.hash;
  update countersign_data.plan q
  set state = p_plan.state, state_seq = p_plan.state_seq, state_hash = p_plan.state_hash, expires_at = p_plan.expires_at
  where q.token = p_plan.token;
  return p_plan;
end
$$;
comment on function countersign_data.move_plan(countersign_data.plan, countersign_data.event) is 'Records the event of a move and lets the plan''s state follow.';
