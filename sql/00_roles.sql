-- The roles of the system (DESIGN §3). A step of its own: it needs CREATEROLE, everything after it does not.
-- None of them can log in. Logins (one a server, one a human) are made by an administrator as members of the groups.

do $$
declare
  v_role text;
begin
  foreach v_role in array array[
    'countersign_owner', 'countersign_engine', 'countersign_writer', 'countersign_migrator', 'countersign_analyst',
    'countersign_agent', 'countersign_reader', 'countersign_approver', 'countersign_auditor'] loop
    -- another database of the cluster may be installing at this very moment
    perform pg_advisory_xact_lock(hashtext('countersign roles'));
    if not exists (select from pg_roles where rolname = v_role) then
      execute format('create role %I nologin noinherit', v_role);
      if v_role in ('countersign_agent', 'countersign_reader', 'countersign_approver', 'countersign_auditor', 'countersign_migrator') then
        execute format('alter role %I inherit', v_role);
      end if;
    -- one that was there already, by whatever hand, must be no more than that
    elsif exists (select from pg_roles where rolname = v_role and (rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)) then
      execute format('alter role %I nologin nosuperuser nobypassrls nocreaterole nocreatedb noreplication', v_role);
    end if;
  end loop;

  -- An installer that is no superuser must be able to hand objects over to the roles that own them.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    foreach v_role in array array['countersign_owner', 'countersign_engine', 'countersign_writer',
                                  'countersign_migrator', 'countersign_analyst'] loop
      if not pg_has_role(current_user, v_role, 'usage') then
        execute format('grant %I to %I', v_role, current_user)
          || case when current_setting('server_version_num')::int >= 160000 then ' with inherit true, set true' else '' end;
      end if;
    end loop;
  end if;
end
$$;
