create or replace function countersign_data.event_of(p_plan countersign_data.plan)
returns countersign_data.event
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event countersign_data.event;
begin
  v_event.plan_token := p_plan.token;
  v_event.from_state := p_plan.state;
  v_event.to_state := p_plan.state;
  v_event.tool := p_plan.tool;
  v_event.reason := p_plan.reason;
  if p_plan.kind = 'host' then
    -- a payload is values throughout: of it the trail has the shape only
    v_event.channel := 'host';
    v_event.params_redacted := jsonb_build_array(jsonb_build_object('type', case left(p_plan.statement, 1)
      when '{' then 'object' when '[' then 'array' when '"' then 'string' when 't' then 'boolean' when 'f' then 'boolean' when 'n' then 'null' else 'number' end,
      'length', length(p_plan.statement)));
  else
    v_event.channel := 'mcp';
    v_event.statement := p_plan.statement;
    v_event.params_redacted := countersign_data.param_shape(p_plan.params);
  end if;
  v_event.preview_rows := p_plan.affected_rows;
  v_event.caller_id := p_plan.caller_id;
  v_event.effects := p_plan.shown->'effects';
  return v_event;
end
$$;
comment on function countersign_data.event_of(countersign_data.plan) is 'An event about a plan, still without a move.';
