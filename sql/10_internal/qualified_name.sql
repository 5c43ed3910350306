create or replace function countersign_data.qualified_name(p_relation oid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select format('%I.%I', n.nspname, c.relname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = p_relation);
end
$$;
comment on function countersign_data.qualified_name(oid) is 'schema.table, quoted where needed.';
