create or replace function countersign_data.is_agent(p_login name)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from countersign_data.members_of('countersign_agent') m join pg_roles r on r.oid = m where r.rolname = p_login and not r.rolsuper)
$$;
comment on function countersign_data.is_agent(name) is 'Whether a login belongs to the agents'' group.';
