create or replace function countersign.preview_update(
  p_table text, p_set jsonb, p_where text, p_params jsonb, p_confirm_full_table boolean, p_reason text, p_caller_id text)
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
  v_plan countersign_data.plan;
begin
  perform countersign_data.refuse_other_isolation();
  perform countersign_data.refuse_planted_objects();
  v_plan.kind := 'update';
  v_plan.tool := 'update_rows';
  v_plan.where_sql := nullif(btrim(p_where, E' \t\n\r'), '');
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);
  v_plan.params := coalesce(p_params, '[]');
  if coalesce(jsonb_typeof(p_set), '') <> 'object' or p_set = '{}' or jsonb_typeof(v_plan.params) <> 'array' then
    v_plan.columns := '{}';
    return countersign_data.record_refusal(countersign_data.event_of(v_plan), countersign_data.outcome_refused('INVALID_ARGUMENTS',
      'set must be an object of column: value, and params an array.', 'For example set: {"status": "done"}. Values only: expressions are not taken.'));
  end if;
  -- the values follow the condition's own parameters
  select array_agg(s.key order by s.key), v_plan.params || jsonb_agg(s.value order by s.key) into v_plan.columns, v_plan.params
  from jsonb_each(p_set) s;
  return countersign_data.preview_dml(v_plan, p_table, p_confirm_full_table);
end
$$;
comment on function countersign.preview_update(text, jsonb, text, jsonb, boolean, text, text) is
  'Agent: previews UPDATE table SET column = value, … WHERE condition. Runs it, measures it, rolls it back; answers a plan token or a refusal.';
