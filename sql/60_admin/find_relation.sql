create or replace function countersign.find_relation(p_name text)
returns oid
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select countersign_data.find_relation(p_name)
$$;
comment on function countersign.find_relation(text) is 'Administrator: the relation a name means, as agents'' names are resolved.';
