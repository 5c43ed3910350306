create or replace function countersign_data.dml_shown(p_plan countersign_data.plan, p_sample jsonb, p_reached jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows jsonb := '[]';
  v_changes jsonb := '[]';
  v_row jsonb;
  v_before jsonb;
  v_after jsonb;
begin
  for v_row in select s.value from jsonb_array_elements(p_sample) s loop
    v_before := countersign_data.row_shown(p_plan.relation, v_row->1);
    v_after := countersign_data.row_shown(p_plan.relation, v_row->2);
    v_rows := v_rows || jsonb_build_array(coalesce(v_before, v_after));
    v_changes := v_changes || jsonb_build_object('key', v_row->0,
      'before', case when p_plan.kind = 'update' then countersign_data.columns_that_differ(v_before, v_after) else v_before end,
      'after', case when p_plan.kind = 'update' then countersign_data.columns_that_differ(v_after, v_before) else v_after end);
  end loop;
  return jsonb_build_object(
    'effects', countersign_data.effects_shown(p_plan.effects),
    'sample_rows', v_rows,
    'changes', v_changes,
    'whole_table', p_plan.kind <> 'insert' and p_plan.where_sql is null,
    'triggers', countersign_data.triggers_fired(p_plan.effects),
    -- rows of other tables that foreign keys reach: these are compared at execution, what only counts say is not
    'reached', (select coalesce(jsonb_agg(jsonb_build_object('table', countersign_data.qualified_name((r.value->>'relation')::oid), 'rows', r.value->'rows',
                  'sample_rows', (select coalesce(jsonb_agg(countersign_data.row_shown((r.value->>'relation')::oid, s.value)), '[]') from jsonb_array_elements(r.value->'sample') s))), '[]')
                from jsonb_array_elements(p_reached) r),
    -- a table whose measured rows are not exactly those that were read: some lie deeper, are hidden, or a trigger wrote them
    'compared_by_count_only', (select coalesce(jsonb_agg(countersign_data.qualified_name(e.root) order by e.root), '[]')
                from (select coalesce(pg_partition_root(x.key::oid::regclass)::oid, x.key::oid) as root, sum((x.value->>0)::bigint + (x.value->>1)::bigint + (x.value->>2)::bigint) as rows
                      from jsonb_each(p_plan.effects) x group by 1) e
                where e.rows <> case when e.root = p_plan.relation then p_plan.affected_rows else 0 end
                  + coalesce((select sum((r.value->>'rows')::bigint) from jsonb_array_elements(p_reached) r where coalesce(pg_partition_root((r.value->>'relation')::oid::regclass)::oid, (r.value->>'relation')::oid) = e.root), 0)),
    'undo', jsonb_build_object('kind', 'none', 'why', 'This version keeps no row images; undo_plan comes later.'));
end
$$;
comment on function countersign_data.dml_shown(countersign_data.plan, jsonb, jsonb) is 'What a preview shows beside its counts: effects by name, a sample, before and after, triggers that fired.';
