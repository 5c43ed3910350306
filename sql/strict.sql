-- install --strict: tightens what the owner of a database may tighten. For a database that agents share with nobody who
-- needs what PUBLIC has by default; the application's own roles are granted back by name where they need it.

do $$
declare
  v_function regprocedure;
begin
  execute format('revoke temporary, create on database %I from public', current_database());
  if pg_has_role(current_user, (select n.nspowner from pg_namespace n where n.nspname = 'public'), 'usage') then
    revoke create on schema public from public;
  end if;
  if not (select rolsuper from pg_roles where rolname = current_user) then
    raise notice 'not a superuser: functions and catalogs of the server stay open to PUBLIC; countersign doctor names them';
    return;
  end if;
  revoke usage on language plpgsql, sql from public;
  grant usage on language plpgsql, sql to countersign_owner;  -- whoever installs is a member of it
  grant usage on language sql to countersign_analyst;  -- resolves agent SQL by creating a function, rolled back
  for v_function in
    select p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace
      and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock|^pg_advisory_unlock(_shared)?$|_to_xml|^lo_|^lo(read|write)$'
        or p.proname in ('pg_terminate_backend', 'pg_cancel_backend', 'set_config', 'pg_notify', 'pg_logical_emit_message', 'ts_stat',
                         'pg_export_snapshot', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until', 'txid_current', 'pg_current_xact_id')
        or (p.proname = 'ts_rewrite' and p.pronargs = 2))
  loop
    execute format('revoke execute on function %s from public', v_function);
    execute format('grant execute on function %s to countersign_owner, countersign_engine', v_function);
  end loop;
  revoke select on pg_catalog.pg_db_role_setting, pg_catalog.pg_stat_activity from public;
  grant select on pg_catalog.pg_db_role_setting to countersign_engine;  -- preflight looks for secrets in it
end
$$;
