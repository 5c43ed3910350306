create or replace function countersign.reject(p_token text, p_reason text default null, p_channel text default 'psql')
returns countersign.outcome
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
  v_context text;
begin
  get diagnostics v_context = pg_context;
  perform countersign_data.refuse_nested_call(v_context, 'reject');
  return countersign_data.decide('reject', p_token, p_reason, p_channel);
end
$$;
comment on function countersign.reject(text, text, text) is 'Approver: forbids a plan for ever; the agent reads the reason.';
