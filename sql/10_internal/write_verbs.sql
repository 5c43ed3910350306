create or replace function countersign_data.write_verbs(p_relation oid)
returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.relkind in ('r', 'p') and has_schema_privilege('countersign_writer', c.relnamespace, 'USAGE') then array_remove(array[
    case when has_any_column_privilege('countersign_writer', c.oid, 'INSERT') then 'insert' end,
    case when has_any_column_privilege('countersign_writer', c.oid, 'UPDATE') then 'update' end,
    case when has_table_privilege('countersign_writer', c.oid, 'DELETE') then 'delete' end], null) else '{}' end
  from pg_class c where c.oid = p_relation
$$;
comment on function countersign_data.write_verbs(oid) is 'What the write allowlist permits on a relation: of insert, update, delete.';
