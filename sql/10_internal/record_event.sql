-- The only door to the trail. Clock, identity, place in the chain and hashes are set by trigger.
create or replace function countersign_data.record_event(p_event countersign_data.event)
returns countersign_data.event
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into countersign_data.event
    (chain, seq, plan_token, from_state, to_state, status, code, tool, reason, statement, params_redacted,
     preview_rows, actual_rows, approved_by, channel, caller_id, duration_ms, effects, note, reported_by)
  values
    (p_event.chain, 0, p_event.plan_token, coalesce(p_event.from_state, 'none'), coalesce(p_event.to_state, 'none'),
     p_event.status, p_event.code, left(p_event.tool, 100), left(p_event.reason, 2000), left(p_event.statement, 100000),
     p_event.params_redacted, p_event.preview_rows, p_event.actual_rows, p_event.approved_by,
     coalesce(p_event.channel, 'mcp'), left(p_event.caller_id, 200), p_event.duration_ms, p_event.effects, left(p_event.note, 4000), p_event.reported_by)
  returning * into p_event;
  return p_event;
end
$$;
comment on function countersign_data.record_event(countersign_data.event) is 'Appends one event; its chain defaults to the session''s.';
