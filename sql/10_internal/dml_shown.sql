create or replace function countersign_data.dml_shown(p_plan countersign_data.plan, p_sample jsonb)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'effects', countersign_data.effects_shown(p_plan.effects),
    'sample_rows', coalesce((select jsonb_agg(coalesce(nullif(s.value->'before', 'null'), s.value->'after')) from jsonb_array_elements(p_sample) s), '[]'),
    'changes', coalesce((
      select jsonb_agg(jsonb_build_object('key', s.value->'key',
        'before', case when p_plan.kind = 'update' then countersign_data.columns_that_differ(s.value->'before', s.value->'after') else s.value->'before' end,
        'after', case when p_plan.kind = 'update' then countersign_data.columns_that_differ(s.value->'after', s.value->'before') else s.value->'after' end))
      from jsonb_array_elements(p_sample) s), '[]'),
    'whole_table', p_plan.kind <> 'insert' and p_plan.where_sql is null,
    'triggers', countersign_data.triggers_fired(p_plan.effects),
    'undo', jsonb_build_object('kind', 'none', 'why', 'This version keeps no row images; undo_plan comes later.'))
$$;
comment on function countersign_data.dml_shown(countersign_data.plan, jsonb) is 'What a preview shows beside its counts: effects by name, a sample, before and after, triggers that fired.';
