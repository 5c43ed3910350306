-- An expression in a migration (DEFAULT, CHECK, USING, an index, a view) runs now, as the tables' owner, and later as
-- whoever touches the table. So only what a read may call of Postgres itself, sequences and settings for defaults; what
-- the application or an extension brings takes an administrator's word.
create or replace function countersign_data.migration_may_call(p_function oid)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from countersign_data.allowed_function a where a.function = p_function)
    or exists (
      select from pg_proc p
      where p.oid = p_function and p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384
        and (p.proname in ('nextval', 'current_setting') or countersign_data.function_is_allowed(p.oid, false)))
$$;
comment on function countersign_data.migration_may_call(oid) is 'Whether an expression in a migration may call a function.';
