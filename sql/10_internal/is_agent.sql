create or replace function countersign_data.is_agent(p_login name)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- who is not even so by what Postgres has cached cannot be one; who is (a superuser is always) is looked at closely
  return pg_has_role(p_login, 'countersign_agent', 'member') and exists (select from countersign_data.members_of('countersign_agent') m join pg_roles r on r.oid = m where r.rolname = p_login and not r.rolsuper);
end
$$;
comment on function countersign_data.is_agent(name) is 'Whether a login belongs to the agents'' group.';
