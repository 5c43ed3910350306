-- Every state change of a plan: an event for each state it passes, then the cached state follows. p_event tells the rest;
-- its status is the state, but for an approval that is not yet the last one. The caller holds the plan's row lock.
create or replace function countersign_data.move_plan(p_plan countersign_data.plan, p_event countersign_data.event, p_states text[])
returns countersign_data.plan
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event countersign_data.event;
  v_state text;
begin
  foreach v_state in array p_states loop
    v_event := p_event;
    v_event.plan_token := p_plan.token;
    v_event.from_state := p_plan.state;
    v_event.to_state := v_state;
    v_event.status := coalesce(p_event.status, v_state);
    if v_state = 'executing' then  -- what came of it is told by the next event
      v_event.code := null;
      v_event.note := null;
      v_event.actual_rows := null;
    end if;
    v_event := countersign_data.record_event(v_event);
    p_plan.state := v_event.to_state;
    p_plan.state_seq := v_event.seq;
    p_plan.state_hash := v_event.hash;
  end loop;
  update countersign_data.plan q
  set state = p_plan.state, state_seq = p_plan.state_seq, state_hash = p_plan.state_hash, expires_at = p_plan.expires_at
  where q.token = p_plan.token;
  return p_plan;
end
$$;
comment on function countersign_data.move_plan(countersign_data.plan, countersign_data.event, text[]) is 'Records the events of a move and lets the plan''s state follow.';
