create or replace function countersign.preflight(p_reader text default null, p_all boolean default true)
returns table (check_name text, severity text, message text, hint text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
set jit = off
as $$
declare
  -- what a role may do is told of a reader only, and not of whoever is named
  v_reader constant text := case when p_reader in (select r.rolname::text from pg_roles r where r.oid in (select countersign_data.members_of('countersign_reader'))) then p_reader end;
begin
  return query
  select c.check_name, case when c.found is null then 'ok' else c.severity end, coalesce(c.found, 'ok'), case when c.found is not null then c.hint end
  from countersign_data.fatal_checks(p_reader) c;
  -- what is only worth mending takes the longer look; a server that starts does not wait for it
  if p_all then
    return query
    select c.check_name, case when c.found is null then 'ok' else c.severity end, coalesce(c.found, 'ok'), case when c.found is not null then c.hint end
    from countersign_data.warning_checks(v_reader) c;
  end if;
end
$$;
comment on function countersign.preflight(text, boolean) is
  'Agent: the start-up self-check. fatal: a promise would be void, the server must not start; warning: worth mending, for doctor.';
