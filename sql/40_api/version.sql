create or replace function countersign.version()
returns integer
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select 1
$$;
comment on function countersign.version() is 'Version of the backend; a client of another version refuses to work with it.';
