create or replace function countersign.set_search_path(p_schemas text[])
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
as $$
declare
  v_missing text;
begin
  select s into v_missing from unnest(p_schemas) s where s is null or s ~ '^(pg_|countersign(_data|_exec|_scratch)?$)' or not exists (select from pg_namespace n where n.nspname::text = s) limit 1;
  if found or coalesce(cardinality(p_schemas), 0) = 0 then
    raise exception 'not a schema of the application: %', v_missing using errcode = 'invalid_schema_name', hint = 'Name existing schemas of the application.';
  end if;
  update countersign_data.setting set search_path = p_schemas where search_path <> p_schemas;
end
$$;
comment on function countersign.set_search_path(text[]) is 'Administrator: schemas in which unqualified names of agents are looked up. Takes effect for statements with the next install, which pins it.';
