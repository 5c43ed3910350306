create or replace function countersign_data.warning_checks(p_reader text)
returns table (check_name text, severity text, found text, hint text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with guarded as (  -- roles that agent text runs as, or that hold an agent's session
    select r.oid, r.rolname from pg_roles r
    where r.rolname in (p_reader, 'countersign_reader', 'countersign_writer', 'countersign_migrator', 'countersign_analyst', 'countersign_agent')
       or (r.rolname = session_user and r.oid in (select countersign_data.members_of('countersign_agent')))),  -- and not an administrator who asks
  app as (select n.oid, n.nspname from pg_namespace n where n.nspname !~ '^(pg_|countersign(_data|_exec|_scratch)?$)' and n.nspname <> 'information_schema')
  select 'no membership in pg_* roles', 'warning',
    (select string_agg(format('%s is a member of %s', g.rolname, b.rolname), ', ') from guarded g join pg_auth_members m on m.member = g.oid join pg_roles b on b.oid = m.roleid where b.rolname ~ '^pg_'),
    'revoke <pg_role> from <role>;'
  union all
  select 'PUBLIC has no TEMP or CREATE on the database', 'warning',
    (select string_agg(lower(a.privilege_type), ', ') || ' granted to PUBLIC' from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
     where d.datname = current_database() and a.grantee = 0 and a.privilege_type in ('TEMPORARY', 'CREATE')),
    format('revoke temporary, create on database %I from public;  (or countersign install --strict)', current_database())
  union all
  select 'agents may create nothing in the search path', 'warning',
    (select string_agg(format('%s may create in %s', g.rolname, n.nspname), ', ')
     from guarded g, app n where g.rolname <> 'countersign_migrator' and has_schema_privilege(g.oid, n.oid, 'CREATE')),
    'revoke create on schema public from public;'
  union all
  select 'the reader cannot write', 'warning',
    (select string_agg(distinct countersign_data.qualified_name(c.oid), ', ') from pg_class c join app n on n.oid = c.relnamespace join guarded g on g.rolname in (p_reader, 'countersign_reader')
     where c.relkind in ('r', 'p', 'v', 'm') and has_table_privilege(g.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
    'revoke insert, update, delete, truncate on <table> from <reader>;'
  union all
  select 'no SECURITY DEFINER function within the reader''s reach', 'warning',
    (select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p join app n on n.oid = p.pronamespace
     where p.prosecdef and p.prorettype <> 'trigger'::regtype and has_function_privilege('countersign_reader', p.oid, 'EXECUTE') and has_schema_privilege('countersign_reader', n.oid, 'USAGE')),
    'revoke execute on function <function> from public;'
  union all
  select 'no function that reaches outside within agents'' reach', 'warning',
    (select string_agg(distinct coalesce(x.extname, l.lanname), ', ') from pg_proc p
     join pg_language l on l.oid = p.prolang
     left join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
     left join pg_extension x on x.oid = d.refobjid
     where (x.extname in ('dblink', 'http', 'pg_net', 'file_fdw', 'adminpack', 'aws_lambda', 'aws_s3', 'pg_background') or (not l.lanpltrusted and l.lanname not in ('internal', 'c', 'sql')))
       and (has_function_privilege('countersign_reader', p.oid, 'EXECUTE') or has_function_privilege('countersign_writer', p.oid, 'EXECUTE'))),
    'revoke execute on all functions in schema <schema> from public;  then grant back to the application''s roles'
  union all
  select 'the writer sees no more than the reader', 'warning',
    (select string_agg(distinct countersign_data.qualified_name(c.oid), ', ') from pg_class c join app n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p', 'v', 'm') and has_column_privilege('countersign_writer', c.oid, a.attnum, 'SELECT') and not has_column_privilege('countersign_reader', c.oid, a.attnum, 'SELECT')),
    'countersign allow write <table>  (narrows the writer to the reader''s columns)'
  union all
  select 'only ordinary tables without rules are writable', 'warning',
    (select string_agg(countersign_data.qualified_name(c.oid), ', ') from pg_class c join app n on n.oid = c.relnamespace
     where has_table_privilege('countersign_writer', c.oid, 'INSERT, UPDATE, DELETE')
       and (c.relkind not in ('r', 'p') or c.relispartition or exists (select from pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN'))),
    'countersign revoke write <table>'
  union all
  select 'the writer owns nothing and is a member of no role', 'warning',
    (select string_agg(what, ', ') from (
       select countersign_data.qualified_name(c.oid) as what from pg_class c where c.relowner = 'countersign_writer'::regrole
       union all select r.rolname::text from pg_auth_members m join pg_roles r on r.oid = m.roleid where m.member = 'countersign_writer'::regrole) x),
    'alter table <table> owner to <application role>;  revoke <role> from countersign_writer;'
  union all
  select 'the migrator may alter the application''s tables', 'warning',
    (select case when count(*) > 0 and not bool_or(pg_has_role('countersign_migrator', c.relowner, 'MEMBER')) then 'run_migration cannot work: countersign_migrator is a member of no owner of tables' end
     from pg_class c join app n on n.oid = c.relnamespace where c.relkind in ('r', 'p')),
    'grant <table owner> to countersign_migrator;  (only if agents shall propose migrations)'
  union all
  select 'what migrations made was given to the application', 'warning',
    (select string_agg(countersign_data.qualified_name(c.oid), ', ') from pg_class c join app n on n.oid = c.relnamespace where c.relowner = 'countersign_migrator'::regrole and c.relkind in ('r', 'p', 'v')),
    'alter table <table> owner to <application role>;  (until then the application cannot use it)'
  union all
  select 'settings of the database and roles hold no secrets', 'warning',
    (select string_agg(distinct split_part(c, '=', 1), ', ') from pg_db_role_setting s, unnest(s.setconfig) c where split_part(c, '=', 1) ~ '\.' and split_part(c, '=', 1) ~* 'secret|password|token|jwt|key'),
    'Every login can read them in pg_db_role_setting: move secrets out of ALTER DATABASE … SET.'
  union all
  select 'no row security policy names a group that agents log in to', 'warning',
    -- DROP OWNED BY a role drops policies that name it, and a member of the role may run it
    (select string_agg(format('%s on %s', p.polname, countersign_data.qualified_name(p.polrelid)), ', ') from pg_policy p
     where p.polroles && (select array_agg(g.oid) from guarded g where g.rolname not in ('countersign_writer', 'countersign_migrator', 'countersign_analyst'))),
    'create policy … to public using (not pg_has_role(current_user, ''countersign_reader'', ''usage'') or …): a policy to public cannot be dropped by its readers'
  union all
  select 'some tables are readable', 'warning',
    case when not exists (select from pg_class c join app n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm') and has_any_column_privilege('countersign_reader', c.oid, 'SELECT'))
         then 'agents may read no table yet' end,
    'countersign allow read <table>'
$$;
comment on function countersign_data.warning_checks(text) is 'What is worth mending; found is null when all is well.';
