-- Hands every object to the role that owns it, and pins the application's search path where agent SQL runs.
-- A new owner needs CREATE on the schema for the moment of the change, unless a superuser makes it.

-- rules may have changed with this install: nothing that was found harmless before counts any more
truncate countersign_data.known_condition;

do $$
declare
  v_changes text[];
  v_change text;
begin
  grant create on schema countersign, countersign_data to countersign_owner, countersign_engine;
  grant create on schema countersign_exec to countersign_owner, countersign_writer, countersign_migrator, countersign_analyst;

  -- listed first, made after: a table cannot change hands while a query over it is open
  select array_agg(x.change) into v_changes
  from (
    select format('alter %s %s owner to countersign_owner', case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, c.oid::regclass) as change
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('countersign', 'countersign_data') and c.relkind in ('r', 'v', 'S') and c.relowner <> 'countersign_owner'::regrole
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')
    union all
    select format('alter type %s owner to countersign_owner', t.oid::regtype)
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where n.nspname = 'countersign' and t.typtype = 'c' and t.typowner <> 'countersign_owner'::regrole
      and exists (select from pg_class c where c.oid = t.typrelid and c.relkind = 'c')
    union all
    select format('alter function %s owner to %I', f.oid::regprocedure, f.owner)
    from (
      select p.oid, p.proowner, case
          when n.nspname = 'countersign_exec' then case p.proname when 'run_dml' then 'countersign_writer' when 'run_ddl' then 'countersign_migrator' else 'countersign_analyst' end
          when n.nspname = 'countersign' and p.prosecdef
            and p.proname not in ('set_policy', 'record_policy', 'set_search_path', 'change_allowed_function', 'find_relation') then 'countersign_engine'
          else 'countersign_owner' end as owner
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ('countersign', 'countersign_data', 'countersign_exec')) f
    where pg_get_userbyid(f.proowner) <> f.owner
    union all
    select format('alter function %s set search_path = %s, pg_temp', p.oid::regprocedure, s.path)
    from pg_proc p, (select string_agg(quote_ident(x), ', ') as path from countersign_data.setting, unnest(search_path) x) s
    where p.pronamespace = 'countersign_exec'::regnamespace
    union all
    select format('alter schema %I owner to countersign_owner', n.nspname)
    from pg_namespace n where n.nspname in ('countersign', 'countersign_data', 'countersign_exec', 'countersign_scratch') and n.nspowner <> 'countersign_owner'::regrole) x;

  foreach v_change in array coalesce(v_changes, '{}') loop
    execute v_change;
  end loop;
end
$$;
