create or replace function countersign_data.table_detail(p_relation oid)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'table', countersign_data.qualified_name(c.oid),
    'kind', case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view' else 'foreign table' end,
    'comment', countersign_data.visible_text(obj_description(c.oid, 'pg_class')),
    'rows_estimate', case when c.reltuples >= 0 and c.relkind <> 'p' then c.reltuples::bigint end,
    'partition_key', case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end,
    'may_write', to_jsonb(countersign_data.write_verbs(c.oid)),
    'row_security', nullif(c.relrowsecurity, false),
    'columns', (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'nullable', not a.attnotnull,
        'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
        'generated', case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end,
        'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
        'enum', (select jsonb_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = a.atttypid),
        'comment', countersign_data.visible_text(col_description(c.oid, a.attnum)),
        'may_write', case when c.relkind in ('r', 'p') then has_column_privilege('countersign_writer', c.oid, a.attnum, 'UPDATE')
                                                         or has_column_privilege('countersign_writer', c.oid, a.attnum, 'INSERT') end)) order by a.attnum)
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and has_column_privilege('countersign_reader', c.oid, a.attnum, 'SELECT')),
    -- a column that may not be read is not named; that there are some is said
    'hidden_columns', nullif((select count(*) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                              and not has_column_privilege('countersign_reader', c.oid, a.attnum, 'SELECT')), 0),
    'keys', (select jsonb_agg(jsonb_build_object('name', k.conname, 'definition', pg_get_constraintdef(k.oid)) order by k.contype desc, k.conname)
             from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'c', 'x') and countersign_data.columns_are_readable(k.conrelid, k.conkey)),
    'references', (select jsonb_agg(jsonb_build_object('name', k.conname, 'definition', pg_get_constraintdef(k.oid), 'table', countersign_data.qualified_name(k.confrelid)) order by k.conname)
                   from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.conparentid = 0 and countersign_data.columns_are_readable(k.conrelid, k.conkey)
                     and countersign_data.relation_is_readable(k.confrelid, '{}')),
    'referenced_by', (select jsonb_agg(jsonb_build_object('name', k.conname, 'definition', pg_get_constraintdef(k.oid), 'table', countersign_data.qualified_name(k.conrelid),
                        'on_delete', case k.confdeltype when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default' when 'r' then 'restrict' else 'no action' end) order by k.conname)
                      from pg_constraint k where k.confrelid = c.oid and k.contype = 'f' and k.conparentid = 0 and countersign_data.relation_is_readable(k.conrelid, '{}')),
    'indexes', (select jsonb_agg(pg_get_indexdef(i.indexrelid) order by i.indexrelid)
                from pg_index i where i.indrelid = c.oid and i.indislive and i.indexprs is null and i.indpred is null
                  and countersign_data.columns_are_readable(c.oid, i.indkey::smallint[])),
    'triggers', (select jsonb_agg(t.tgname order by t.tgname) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled <> 'D')))
  from pg_class c
  where c.oid = p_relation
$$;
comment on function countersign_data.table_detail(oid) is 'One table in full, as far as the readers'' group may see it.';
