create or replace function countersign_data.fatal_checks(p_reader text)
returns table (check_name text, severity text, found text, hint text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with login as (
    select r.*, (r.rolname = session_user) as is_session
    from pg_roles r
    where r.rolname in (session_user, p_reader, 'countersign_reader', 'countersign_writer', 'countersign_agent', 'countersign_migrator', 'countersign_analyst', 'countersign_engine', 'countersign_owner'))
  select 'agent and approver are different logins', 'fatal',
    (select 'These logins are both agent and approver: ' || string_agg(r.rolname, ', ') from pg_roles r
     where not r.rolsuper and r.oid in (select countersign_data.members_of('countersign_agent')) and r.oid in (select countersign_data.members_of('countersign_approver')) and r.rolcanlogin),
    'revoke countersign_approver from <login>;'
  union all
  select 'no superuser or BYPASSRLS', 'fatal',
    -- an administrator who asks is no agent, which the next line says of whoever should be one
    (select 'Superuser or BYPASSRLS: ' || string_agg(l.rolname, ', ') from login l
     where (l.rolsuper or l.rolbypassrls) and (not l.is_session or l.oid in (select countersign_data.members_of('countersign_agent')))),
    'Log in as an ordinary role: create role my_agent login password ''…'' in role countersign_agent;'
  union all
  select 'login is an agent', 'fatal',
    case when session_user::text not in (select r.rolname::text from pg_roles r where r.oid in (select countersign_data.members_of('countersign_agent')))
         then format(case when (select r.rolsuper from pg_roles r where r.rolname = session_user) then '%s is a superuser, and no agent may be one.' else '%s is not a member of countersign_agent.' end, session_user) end,
    case when (select r.rolsuper from pg_roles r where r.rolname = session_user) then 'Log in as an ordinary role: create role my_agent login password ''…'' in role countersign_agent;'
         else format('grant countersign_agent to %I;', session_user) end
  union all
  select 'reader is a reader and nothing else', 'fatal',
    case when p_reader is null then null
         when p_reader = session_user then 'Agent and reader are the same login.'
         when p_reader not in (select r.rolname::text from pg_roles r where r.oid in (select countersign_data.members_of('countersign_reader'))) then format('%s is not a member of countersign_reader.', p_reader)
         when p_reader in (select r.rolname::text from pg_roles r where r.oid in (select countersign_data.members_of('countersign_agent')) or r.oid in (select countersign_data.members_of('countersign_approver')))
           then format('%s is also agent or approver.', p_reader) end,
    'create role my_reader login password ''…'' in role countersign_reader;'
  union all
  select 'PUBLIC may execute no Countersign function', 'fatal',
    (select 'PUBLIC may execute ' || string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
     where p.pronamespace in (select n.oid from pg_namespace n where n.nspname ~ '^countersign')
       and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))),
    'Run countersign install again.'
  union all
  select 'the database is UTF-8', 'fatal',
    case when current_setting('server_encoding') <> 'UTF8' then format('The database''s encoding is %s.', current_setting('server_encoding')) end,
    'Countersign needs a database with encoding UTF8: create database … encoding ''UTF8'' template template0;'
  union all
  select 'track_counts is on', 'fatal',
    case when current_setting('track_counts') <> 'on' then 'track_counts is off: effects cannot be measured.' end,
    'alter system set track_counts = on; select pg_reload_conf();'
$$;
comment on function countersign_data.fatal_checks(text) is 'What would void a promise; found is null when all is well.';
