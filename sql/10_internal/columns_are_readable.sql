create or replace function countersign_data.columns_are_readable(p_relation oid, p_columns smallint[])
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(bool_and(n = 0 or has_column_privilege('countersign_reader', p_relation, n, 'SELECT')), true) from unnest(p_columns) n
$$;
comment on function countersign_data.columns_are_readable(oid, smallint[]) is 'Whether every one of the columns is readable for agents, so that what names them may be shown.';
