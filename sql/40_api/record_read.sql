create or replace function countersign.record_read(
  p_tool text, p_statement text, p_params jsonb, p_reason text, p_caller_id text,
  p_rows bigint, p_duration_ms integer, p_code text, p_message text)
returns void
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
  v_call countersign_data.event;
begin
  v_call.tool := countersign_data.tool_name(p_tool);
  v_call.reason := p_reason;
  v_call.statement := p_statement;
  v_call.params_redacted := countersign_data.param_shape(p_params);
  v_call.caller_id := p_caller_id;
  v_call.actual_rows := p_rows;
  v_call.duration_ms := p_duration_ms;
  v_call.note := p_message;
  v_call.status := case when p_code is null then 'read' else 'refused' end;
  v_call.code := case when p_code ~ '^[A-Z_]{3,40}$' then p_code when p_code is not null then 'INTERNAL_ERROR' end;
  perform countersign_data.record_event(v_call);
end
$$;
comment on function countersign.record_read(text, text, jsonb, text, text, bigint, integer, text, text) is 'Agent: the event of a read, before its result is given out.';
