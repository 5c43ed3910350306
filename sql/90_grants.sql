-- The security design of Countersign, whole. First everything is taken back, then every grant of the system is listed.
-- Nothing outside this file grants a right on a Countersign object.

do $$
declare
  v_revokes text[];
  v_revoke text;
begin
  -- from whoever has one, by whatever hand it came there: a grant that is not below is no part of the design
  with held as (
    select 'schema' as kind, quote_ident(n.nspname) as name, a.grantee, null as columns
    from pg_namespace n, aclexplode(n.nspacl) a
    where n.nspname in ('countersign', 'countersign_data', 'countersign_exec', 'countersign_scratch') and a.grantee <> n.nspowner
    union
    select case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass::text, a.grantee, null
    from pg_class c, aclexplode(c.relacl) a
    where c.relnamespace in ('countersign'::regnamespace, 'countersign_data'::regnamespace) and c.relkind in ('r', 'v', 'S') and a.grantee <> c.relowner
    union
    select 'table', c.oid::regclass::text, x.grantee, quote_ident(a.attname)
    from pg_attribute a join pg_class c on c.oid = a.attrelid, aclexplode(a.attacl) x
    where c.relnamespace in ('countersign'::regnamespace, 'countersign_data'::regnamespace) and a.attnum > 0 and not a.attisdropped and x.grantee <> c.relowner
    union
    select 'routine', p.oid::regprocedure::text, a.grantee, null
    from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    where p.pronamespace in ('countersign'::regnamespace, 'countersign_data'::regnamespace, 'countersign_exec'::regnamespace) and a.grantee <> p.proowner)
  select array_agg(format('revoke all%s on %s %s from %s', ' (' || h.columns || ')', h.kind, h.name, case h.grantee when 0 then 'public' else h.grantee::regrole::text end)) into v_revokes
  from held h;
  foreach v_revoke in array coalesce(v_revokes, '{}') loop
    execute v_revoke;
  end loop;
end
$$;

-- The engine decides. Truth is INSERT-only, even for it; of a plan it may change the state and nothing else.
grant usage on schema countersign, countersign_data, countersign_exec to countersign_engine;
grant select, insert on countersign_data.event, countersign_data.tombstone to countersign_engine;
grant select, insert on countersign_data.plan to countersign_engine;
grant update (state, state_seq, state_hash, expires_at) on countersign_data.plan to countersign_engine;
grant select, insert, update on countersign_data.requester, countersign_data.known_condition to countersign_engine;
grant select on countersign_data.transition, countersign_data.policy_key, countersign_data.policy_row,
                countersign_data.allowed_function, countersign_data.setting to countersign_engine;
grant execute on all functions in schema countersign_data to countersign_engine;
grant execute on function countersign.plan_detail(text) to countersign_engine;
grant execute on function countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb),
                          countersign_exec.run_ddl(text),
                          countersign_exec.resolve(text),
                          countersign_exec.read_tag(text) to countersign_engine;

-- The owners of the functions that touch agent SQL: no USAGE where their function lives, no right on any table here.
-- countersign_writer, countersign_migrator: nothing. What they hold on the application's tables is the allowlist.
-- The analyst creates a view in an empty schema, to be rolled back.
grant usage, create on schema countersign_scratch to countersign_analyst;

-- Agents preview, execute and ask; hosts plan, begin and end what is outside the database. No table, no decision.
grant usage on schema countersign to countersign_agent;
grant execute on function
  countersign.preview_delete(text, text, jsonb, boolean, text, text),
  countersign.preview_update(text, jsonb, text, jsonb, boolean, text, text),
  countersign.preview_insert(text, text[], jsonb, text, text),
  countersign.preview_migration(text, text, text),
  countersign.execute_plan(text, text, jsonb, text),
  countersign.plan_status(text, text),
  countersign.plan_state(text),
  countersign.announce(text),
  countersign.describe_schema(text, text, text, text),
  countersign.check_read(text, text, jsonb, text, text),
  countersign.record_read(text, text, jsonb, text, text, bigint, integer, text, text),
  countersign.record_refusal(text, text, text, text, text, jsonb, text),
  countersign.session_defaults(),
  countersign.create_host_plan(text, text, text, text, bigint, text, jsonb, boolean, boolean, bigint, bigint),
  countersign.begin_execute(text, text, text, text),
  countersign.confirm_executed(text, text, integer, text, bigint),
  countersign.confirm_failed(text, text, integer, text),
  countersign.host_plans(text, text, integer, bigint),
  countersign.sweep(integer),
  countersign.adopt_host_plan(text, text, text, text, text, jsonb),
  countersign.preflight(text, boolean),
  countersign.version()
  to countersign_agent;

-- Readers: nothing here. The read allowlist is SELECT on the application's tables, given by countersign.allow.

-- Approvers see what waits, and decide.
grant usage on schema countersign to countersign_approver;
grant select on countersign.pending, countersign.executing to countersign_approver;
grant execute on function
  countersign.show(text),
  countersign.plan_detail(text),
  countersign.plan_list(text, text, integer),
  countersign.approve(text, text, text, text, text),
  countersign.reject(text, text, text, text, text),
  countersign.settle(text, text, text, text),
  countersign.announce(text),
  countersign.version()
  to countersign_approver;

-- Auditors see the trail and prove it whole.
grant usage on schema countersign to countersign_auditor;
grant select on countersign.audit_log, countersign.policy to countersign_auditor;
grant execute on function countersign.verify_chain(), countersign.version() to countersign_auditor;

-- A view runs its functions as whoever selects; without USAGE on the schema they cannot be called by name.
grant execute on function countersign_data.visible_text(text) to countersign_approver, countersign_auditor;
grant execute on function countersign_data.wrapped(text, integer) to countersign_approver;
grant execute on function countersign_data.qualified_name(oid) to countersign_auditor;

-- Administrators are superusers or members of countersign_owner, who hold all of 60_admin/ as its owner.

-- Each owner may execute what it owns, as Postgres would have it by default: an installer that is no superuser replaces a
-- function as a member of its owner, and Postgres asks for this right to validate it. Owners of exec functions still lack
-- USAGE on the schema, so the right is of no use to agent SQL.
do $$
declare
  v_grants text[];
  v_grant text;
begin
  select array_agg(format('grant execute on function %s to %I', p.oid::regprocedure, pg_get_userbyid(p.proowner))) into v_grants
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('countersign', 'countersign_data', 'countersign_exec');
  foreach v_grant in array v_grants loop
    execute v_grant;
  end loop;
end
$$;
