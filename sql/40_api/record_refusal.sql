create or replace function countersign.record_refusal(
  p_tool text, p_code text, p_message text, p_reason text, p_statement text, p_params jsonb, p_caller_id text)
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
  v_call.tool := p_tool;
  v_call.reason := p_reason;
  v_call.statement := p_statement;
  v_call.params_redacted := countersign_data.param_shape(p_params);
  v_call.caller_id := p_caller_id;
  perform countersign_data.record_refusal(v_call, countersign_data.outcome_refused(case when p_code ~ '^[A-Z_]{3,40}$' then p_code else 'INTERNAL_ERROR' end, p_message, null));
end
$$;
comment on function countersign.record_refusal(text, text, text, text, text, jsonb, text) is 'Agent: the event of a call that the server refused before it asked the database anything.';
