create or replace function countersign.preview_delete(
  p_table text, p_where text, p_params jsonb, p_confirm_full_table boolean, p_reason text, p_caller_id text)
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
  v_plan.kind := 'delete';
  v_plan.tool := 'delete_rows';
  v_plan.where_sql := nullif(btrim(p_where, E' \t\n\r'), '');
  v_plan.params := coalesce(p_params, '[]');
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);
  return countersign_data.preview_dml(v_plan, p_table, p_confirm_full_table);
end
$$;
comment on function countersign.preview_delete(text, text, jsonb, boolean, text, text) is
  'Agent: previews DELETE FROM table WHERE condition. Runs it, measures it, rolls it back; answers a plan token or a refusal.';
