create or replace function countersign.preview_insert(
  p_table text, p_columns text[], p_rows jsonb, p_reason text, p_caller_id text)
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
  v_plan.kind := 'insert';
  v_plan.tool := 'insert_rows';
  v_plan.columns := coalesce(p_columns, '{}');
  v_plan.params := coalesce(p_rows, '[]');
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);
  return countersign_data.preview_dml(v_plan, p_table, false);
end
$$;
comment on function countersign.preview_insert(text, text[], jsonb, text, text) is
  'Agent: previews INSERT INTO table (columns) with rows, an array of arrays. Runs it, measures it, rolls it back; answers a plan token or a refusal.';
