create or replace function countersign.confirm_failed(p_token text, p_note text default null, p_attempt integer default null, p_caller_id text default null)
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
  v_found record;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
begin
  v_found := countersign_data.own_host_plan('confirm_failed', p_token, p_caller_id);
  v_call := v_found.call;
  v_refusal := v_found.refusal;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;
  v_call.note := nullif(btrim(p_note), '');
  return countersign_data.end_execution(v_found.plan, v_call, p_attempt, false);
end
$$;
comment on function countersign.confirm_failed(text, text, integer, text) is
  'Agent: what was begun was not done; the plan may be begun again until it expires. p_attempt, if given, must be the attempt that begin_execute answered.';
