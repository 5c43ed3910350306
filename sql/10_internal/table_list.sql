create or replace function countersign_data.table_list(p_schema text)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
      'table', countersign_data.qualified_name(c.oid),
      'kind', case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view' else 'foreign table' end,
      'rows_estimate', case when c.relkind = 'v' then null
        when c.relkind = 'p' then (select sum(greatest(p.reltuples, 0))::bigint from pg_partition_tree(c.oid::regclass) t join pg_class p on p.oid = t.relid where t.isleaf)
        when c.reltuples < 0 then null else c.reltuples::bigint end,
      'partitions', case when c.relkind = 'p' then (select count(*) from pg_partition_tree(c.oid::regclass) t where t.isleaf) end,
      'may_read', countersign_data.relation_is_readable(c.oid, '{}'),
      'may_write', to_jsonb(countersign_data.write_verbs(c.oid)),
      'comment', left(countersign_data.visible_text(obj_description(c.oid, 'pg_class')), 300)))
    order by n.nspname, c.relname), '[]')
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname !~ '^(pg_|countersign(_data|_exec|_scratch)?$)' and n.nspname <> 'information_schema'
    and (p_schema is null or n.nspname::text = p_schema or n.nspname::text = lower(p_schema))
    and (countersign_data.relation_is_readable(c.oid, '{}') or countersign_data.write_verbs(c.oid) <> '{}')
$$;
comment on function countersign_data.table_list(text) is 'The tables and views an agent may read or write, a line each; partitions folded under their parent.';
