create or replace function countersign.preflight(p_reader text default null)
returns table (check_name text, severity text, message text, hint text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
as $$
  select c.check_name, case when c.found is null then 'ok' else c.severity end, coalesce(c.found, 'ok'), case when c.found is not null then c.hint end
  from (
    select * from countersign_data.fatal_checks(p_reader)
    union all
    select * from countersign_data.warning_checks(p_reader)) c
$$;
comment on function countersign.preflight(text) is
  'Agent: the start-up self-check. fatal: a promise would be void, the server must not start; warning: worth mending, for doctor.';
