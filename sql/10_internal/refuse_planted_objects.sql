-- Names that agent text uses are looked up while Countersign's roles parse and run it. What an agent's login could have
-- made itself (a domain with a check, an operator, a view, in its session's temporary schema or wherever it may create)
-- would be its own code under another role. So as long as the login, or a group of its, owns such a thing, nothing is run.
create or replace function countersign_data.refuse_planted_objects()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_own oid[];
  v_others oid[];
begin
  if (select r.rolsuper from pg_roles r where r.rolname = session_user) then
    return;
  end if;
  -- the login and its groups; and whoever else works for agents, such as its reader's login, as far as code goes
  select array_agg(r.oid) filter (where pg_has_role(session_user, r.oid, 'member')),
    array_agg(r.oid) filter (where not r.rolsuper and (pg_has_role(r.oid, 'countersign_reader', 'usage') or pg_has_role(r.oid, 'countersign_agent', 'usage')))
  into v_own, v_others
  from pg_roles r;
  if exists (
    select from pg_shdepend s
    where s.refclassid = 'pg_authid'::regclass and s.refobjid = any (v_own || v_others) and s.deptype = 'o'
      and (s.refobjid = any (v_own) or s.classid in ('pg_proc'::regclass, 'pg_operator'::regclass))
      and s.dbid = (select d.oid from pg_database d where d.datname = current_database())
      -- what another session keeps in its temporary schema is out of this one's sight
      and coalesce(case s.classid
            when 'pg_class'::regclass then (select c.relnamespace from pg_class c where c.oid = s.objid)
            when 'pg_type'::regclass then (select t.typnamespace from pg_type t where t.oid = s.objid)
            when 'pg_proc'::regclass then (select p.pronamespace from pg_proc p where p.oid = s.objid)
            when 'pg_operator'::regclass then (select o.oprnamespace from pg_operator o where o.oid = s.objid) end, 0)
          <> all (select n.oid from pg_namespace n where n.nspname ~ '^pg_temp_' and n.oid <> pg_my_temp_schema())) then
    raise exception '%, or another agent''s or reader''s login, owns objects in this database, so agent SQL cannot be told from its own code', session_user
      using errcode = 'insufficient_privilege', hint = 'Drop them (temporary ones too: discard temp), and see countersign doctor for where agents may create.';
  end if;
end
$$;
comment on function countersign_data.refuse_planted_objects() is 'Raises when the agent''s login owns anything this session could reach, temporary objects included.';
