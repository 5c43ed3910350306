create or replace function countersign_data.rows_of_table(p_relation oid)
returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  -- never analyzed and not counted yet is unknown, and 0 would be a lie
  select nullif(greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0), 0) from pg_class c where c.oid = p_relation
$$;
comment on function countersign_data.rows_of_table(oid) is 'About how many rows a table has, from statistics; null when nobody knows.';
