-- Preview and execution of DDL, one code: run, read the difference, and unless it is exactly what was previewed, undo.
create or replace function countersign_data.measure_migration(
  p_statement text, p_expected jsonb,
  out measured jsonb, out verdict text, out error_state text, out error_message text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before jsonb;
  v_counters jsonb;
  v_files jsonb;
  v_names jsonb;
  v_hidden text;
  v_reached boolean := false;
  v_own_limit text;
begin
  select jsonb_agg(jsonb_build_array(f.kind, f.object, f.fact)) into v_before from countersign_data.catalog_facts() f;
  select jsonb_object_agg(c.oid::text, c.relfilenode) into v_files from pg_class c where c.relkind in ('r', 'm', 'S');
  -- an index goes by the name of its table
  select jsonb_object_agg(c.oid::text, countersign_data.qualified_name(coalesce(i.indrelid, c.oid))) into v_names
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_index i on i.indexrelid = c.oid
  where c.relkind in ('r', 'p', 'm', 'v', 'i', 'I') and n.nspname !~ '^(pg_|countersign(_data|_exec|_scratch)?$)' and n.nspname <> 'information_schema';
  v_counters := countersign_data.row_counters();
  v_own_limit := countersign_data.limit_transaction(0);
  begin
    perform countersign_exec.run_ddl(p_statement);

    with before as (select b.value->>0 as kind, b.value->>1 as object, b.value->>2 as fact from jsonb_array_elements(v_before) b),
         after as materialized (select * from countersign_data.catalog_facts()),
         changed as (select * from after except select * from before),
         -- a view with a new definition reads all that it reads anew, since more columns may come from the same tables
         added as (select * from changed union select a.* from after a where a.kind = 'read' and exists (select from changed c where c.kind = 'view' and c.object = a.object)),
         removed as (select * from before except select * from after)
    select jsonb_build_object(
      'added', (select coalesce(jsonb_agg(jsonb_build_array(kind, object, fact) order by kind, object, fact), '[]') from added),
      'removed', (select coalesce(jsonb_agg(jsonb_build_array(kind, object, fact) order by kind, object, fact), '[]') from removed),
      -- by the names from before: what is dropped has no row left, and what is renamed has another name
      'locks', (select coalesce(jsonb_agg(jsonb_build_object('table', l.name, 'mode', l.mode) order by l.name, l.mode), '[]')
                from (select distinct coalesce(v_names->>l.relation::text, (select countersign_data.qualified_name(c.oid) from pg_class c
                          where c.oid = l.relation and c.relkind in ('r', 'p', 'm', 'v') and c.relnamespace::regnamespace::text !~ '^(pg_|countersign(_data|_exec|_scratch)?$)')) as name, l.mode
                      from pg_locks l
                      where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.granted and l.mode not in ('AccessShareLock', 'RowExclusiveLock', 'RowShareLock')) l
                where l.name is not null),
      'rewrites', (select coalesce(jsonb_agg(countersign_data.qualified_name(c.oid) order by countersign_data.qualified_name(c.oid)), '[]')
                   from pg_class c where v_files ? c.oid::text and c.relkind in ('r', 'm', 'S') and c.relnamespace::regnamespace::text !~ '^(pg_|countersign(_data|_exec|_scratch)?$)'
                     and (v_files->>c.oid::text)::oid <> c.relfilenode),
      'effects', countersign_data.row_counters(v_counters)) into measured;

    verdict := case when p_expected is null or measured = p_expected then 'done' else 'effects_changed' end;
    v_reached := true;
    if p_expected is null or verdict <> 'done' then
      raise exception using errcode = 'CSRB0';
    end if;
  exception
    when sqlstate 'CSRB0' then
      if not v_reached then raise; end if;
    when query_canceled or assert_failure or others then  -- OTHERS leaves those two out
      get stacked diagnostics error_state = returned_sqlstate, error_message = message_text;
      verdict := 'error';
      -- a cast quotes the value that it cannot take, 'relation "<value>" does not exist' too; only what never does is passed on
      if left(error_state, 2) not in ('23', '25') and error_state not in ('0A000', '2BP01', '42501', '42701', '42703', '42710', '42804', '42P07', '42P16', '55P04') then
        v_hidden := (countersign_data.hidden_table_in(p_statement)).hidden;
        error_message := case when v_hidden is null then error_message else format('It failed; why is not said, since agents may not read %s.', v_hidden) end;
      end if;
  end;
  perform countersign_data.set_transaction_limit(v_own_limit);
end
$$;
comment on function countersign_data.measure_migration(text, jsonb) is 'Runs DDL and reads what it did from the catalogs; rolled back unless it equals what is expected.';
