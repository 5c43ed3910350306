-- The one function that runs an agent's insert, update or delete. Owned by countersign_writer, so the statement runs
-- with the write allowlist and nothing more. Preview and execution are the same code; only the end differs: a preview
-- always rolls back, an execution rolls back unless it did exactly what was previewed.
--
-- What is written here runs under the application's search path: functions are named in full, and both sides of an operator
-- have the type it is made for, so that none of the application's fits better.
--
-- Results travel in variables, never in the exception: a trigger may raise the same SQLSTATE, so the handler believes
-- only the flag that was set just before raising (D010).
create or replace function countersign_exec.run_dml(
  p_probe text, p_locks text[], p_reached text, p_statement text, p_params jsonb, p_cap bigint, p_expected_digest bytea, p_expected_effects jsonb,
  out affected bigint, out digest bytea, out marks text[], out sample jsonb, out reached jsonb, out effects jsonb,
  out verdict text, out error_state text, out error_message text, out truncated text)
language plpgsql
security definer
set search_path = public, pg_temp  -- replaced by the configured path, see 80_owners.sql (pg_catalog comes first by itself)
set standard_conforming_strings = on
set transform_null_equals = off
set row_security = on
set datestyle = 'ISO, YMD'
set intervalstyle = 'iso_8601'
set timezone = 'UTC'
set bytea_output = 'hex'
set extra_float_digits = 1
set plan_cache_mode = auto
set array_nulls = on
set client_min_messages = error
as $$
declare
  v_run constant text := 'countersign_' || pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', '');
  v_preview constant boolean := p_expected_digest is null;
  v_row record;
  v_types pg_catalog.regtype[];
  v_args text[] := '{}';
  v_arg text;
  v_own_schema constant oid := (select n.oid from pg_catalog.pg_namespace n where n.nspname::text = 'countersign_data');
  v_signature text := '';
  v_call text := '';
  v_before jsonb;
  v_has_triggers boolean;
  v_locked oid[] := '{}';
  v_reached boolean := false;
  v_before_sql text;
  v_reached_hashes bytea := '';
  v_reached_marks text[] := '{}';
begin
  begin
    -- 1. bind: Postgres infers the parameters' types, then each value is written as a literal of that type
    execute 'prepare ' || v_run || ' as ' || p_statement;
    select s.parameter_types into v_types from pg_catalog.pg_prepared_statements s where s.name = v_run;
    if pg_catalog.cardinality(v_types) <> pg_catalog.jsonb_array_length(p_params) then
      verdict := 'parameters';
      error_message := pg_catalog.format('The statement takes %s parameters, %s values were given.', pg_catalog.cardinality(v_types), pg_catalog.jsonb_array_length(p_params));
      execute 'deallocate ' || v_run;
      return;
    end if;
    for i in 1 .. pg_catalog.cardinality(v_types) loop
      if v_types[i]::oid in ('114'::oid, '3802'::oid) then
        v_arg := nullif((p_params->(i - 1))::text, 'null');
      elsif pg_catalog.jsonb_typeof(p_params->(i - 1)) in ('array', 'object') then
        execute pg_catalog.format('select v::text from pg_catalog.jsonb_to_record($1) as x(v %s)', v_types[i]) into v_arg
        using pg_catalog.jsonb_build_object('v', p_params->(i - 1));
      else
        v_arg := p_params->>(i - 1);
      end if;
      v_args := pg_catalog.array_append(v_args, pg_catalog.quote_nullable(v_arg));
    end loop;
    -- with their types named, the statements beside it take all parameters, those they have no use for too
    if v_args <> '{}' then
      v_signature := '(' || pg_catalog.array_to_string(v_types, ', ') || ')';
      v_call := '(' || pg_catalog.array_to_string(v_args, ', ') || ')';
    end if;

    -- 2. probe: count up to the cap in a read-only subtransaction: no lock, no WAL, and a predicate that writes is caught
    if p_probe is not null then
      execute 'prepare ' || v_run || '_probe' || v_signature || ' as ' || p_probe;
      begin
        set local transaction_read_only = on;
        for v_row in execute 'execute ' || v_run || '_probe' || v_call loop
          affected := v_row.n;
        end loop;
        v_reached := true;
        raise exception using errcode = 'CSRB0';
      exception when sqlstate 'CSRB0' then
        if not v_reached then raise; end if;
      end;
      v_reached := false;
      if affected > p_cap then
        verdict := 'over_cap';
      end if;
    end if;

    -- 3. run, measure, compare. Counted are the application's tables, and of the system's what a trigger could write:
    -- large objects (2613, 2995), and pg_proc and pg_class, which DDL always touches
    if verdict is null then
      begin
        select coalesce(pg_catalog.jsonb_object_agg(x.oid::text, pg_catalog.jsonb_build_array(x.i, x.u, x.d)), '{}') into v_before
        from (select c.oid, pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) as i, pg_catalog.pg_stat_get_xact_tuples_updated(c.oid) as u,
                     pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid) as d
              from pg_catalog.pg_class c where (c.oid >= '16384'::oid or c.oid in ('1255'::oid, '1259'::oid, '2613'::oid, '2995'::oid)) and c.relkind in ('r', 'm')) x
        where x.i > 0 or x.u > 0 or x.d > 0;

        v_has_triggers := exists (
          select from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
          where not t.tgisinternal and c.relnamespace <> v_own_schema);
        if v_has_triggers then
          v_locked := array(select l.relation from pg_catalog.pg_locks l
                            where l.pid = pg_catalog.pg_backend_pid() and l.locktype = 'relation' and l.mode = 'AccessExclusiveLock');
        end if;
        -- statements of their own, so that each one's snapshot is younger than the locks before it
        reached := '[]';
        if p_reached is not null then
          foreach v_before_sql in array pg_catalog.array_append(p_locks, p_reached) loop
            execute 'prepare ' || v_run || '_before' || v_signature || ' as ' || v_before_sql;
            for v_row in execute 'execute ' || v_run || '_before' || v_call loop
              exit when v_before_sql <> p_reached;
              continue when v_row.rows = 0;
              reached := reached || pg_catalog.jsonb_build_object('relation', v_row.relation, 'rows', v_row.rows, 'sample', v_row.sample);
              v_reached_hashes := pg_catalog.sha256(v_reached_hashes || v_row.hashes);
              v_reached_marks := v_reached_marks || v_row.marks;
              if v_row.rows > p_cap then
                affected := v_row.rows;
                verdict := 'over_cap';
              end if;
            end loop;
            execute 'deallocate ' || v_run || '_before';
          end loop;
        end if;

        if verdict is null then
          for v_row in execute 'execute ' || v_run || v_call loop
            affected := v_row.affected;
            digest := v_row.digest || v_reached_hashes;
            marks := v_row.marks || v_reached_marks;
            sample := v_row.sample;
          end loop;
          set constraints all immediate;
        end if;

        select coalesce(pg_catalog.jsonb_object_agg(x.oid::text, pg_catalog.jsonb_build_array(x.i, x.u, x.d)), '{}') into effects
        from (select c.oid,
                     pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) - coalesce((v_before->c.oid::text->>0)::bigint, 0) as i,
                     pg_catalog.pg_stat_get_xact_tuples_updated(c.oid) - coalesce((v_before->c.oid::text->>1)::bigint, 0) as u,
                     pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid) - coalesce((v_before->c.oid::text->>2)::bigint, 0) as d
              from pg_catalog.pg_class c where (c.oid >= '16384'::oid or c.oid in ('1255'::oid, '1259'::oid, '2613'::oid, '2995'::oid)) and c.relkind in ('r', 'm')) x
        where x.i > 0 or x.u > 0 or x.d > 0;
        -- TRUNCATE (and DDL) in a trigger leaves no row counter, but it must hold this lock; without triggers nothing can
        select pg_catalog.min(l.relation::pg_catalog.regclass::text) into truncated
        from pg_catalog.pg_locks l
        where v_has_triggers and l.pid = pg_catalog.pg_backend_pid() and l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and l.granted
          and l.relation <> all (v_locked);

        verdict := case when verdict is not null then verdict when v_preview or (digest = p_expected_digest and effects = p_expected_effects and truncated is null) then 'done'
                        when pg_catalog.substr(digest, 1, 32) <> pg_catalog.substr(p_expected_digest, 1, 32) then 'rowset_changed' else 'effects_changed' end;
        v_reached := true;
        if v_preview or verdict <> 'done' or truncated is not null then
          raise exception using errcode = 'CSRB0';
        end if;
      exception when sqlstate 'CSRB0' then
        if not v_reached then raise; end if;
      end;
    end if;
  exception when query_canceled or assert_failure or others then  -- OTHERS leaves those two out
    get stacked diagnostics error_state = returned_sqlstate, error_message = message_text;
    verdict := 'error';
  end;

  -- what is still there: an error came before one of them, or a trigger forgot them
  for v_row in select s.name from pg_catalog.pg_prepared_statements s where s.name in (v_run, v_run || '_probe', v_run || '_before') loop
    execute 'deallocate ' || v_row.name;
  end loop;
end
$$;
comment on function countersign_exec.run_dml(text, text[], text, text, jsonb, bigint, bytea, jsonb) is
  'Runs one write as countersign_writer and measures it. Without an expected digest it is rolled back (preview); with one it stays only if digest and effects are equal. verdict: done, over_cap, rowset_changed, effects_changed, parameters, error.';
