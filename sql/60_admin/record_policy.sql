create or replace function countersign.record_policy(p_statement text)
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
as $$
declare
  v_call countersign_data.event;
begin
  v_call.tool := 'policy';
  v_call.status := 'policy';
  v_call.channel := 'admin';
  v_call.statement := p_statement;
  perform countersign_data.record_event(v_call);
end
$$;
comment on function countersign.record_policy(text) is 'Administrator: the event of a change to the allowlist. Called by allow and revoke.';
