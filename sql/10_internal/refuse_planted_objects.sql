-- Names that agent text uses are looked up while Countersign's roles parse and run it. What an agent's login could have
-- made itself (a domain with a check, an operator, a view, in its temporary schema or wherever it may create) would be its
-- own code under another role. So as long as the login, or a group of its, owns anything in this database, nothing is run.
create or replace function countersign_data.refuse_planted_objects()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from pg_roles r join pg_shdepend s on s.refclassid = 'pg_authid'::regclass and s.refobjid = r.oid
    where pg_has_role(session_user, r.oid, 'member') and s.deptype = 'o'
      and s.dbid = (select d.oid from pg_database d where d.datname = current_database())
      and not (select u.rolsuper from pg_roles u where u.rolname = session_user)) then
    raise exception '% owns objects in this database, so agent SQL cannot be told from its own code', session_user
      using errcode = 'insufficient_privilege', hint = 'Drop them (temporary ones too: discard temp), and see countersign doctor for where agents may create.';
  end if;
end
$$;
comment on function countersign_data.refuse_planted_objects() is 'Raises when the agent''s login owns anything in this database, temporary objects included.';
