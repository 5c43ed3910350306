-- What does an agent's text call? A parse tree does not say: operators, casts, domains and attribute notation hide
-- functions. So Postgres resolves it: as a role without any data right, a function with the text as its body is created
-- in a schema that is always empty, its stored tree and its dependencies are read, and all is rolled back. Nothing of
-- the text is executed. (A view would do too, at three times the cost: D013.) Owned by countersign_analyst.
create or replace function countersign_exec.resolve(p_from text)
returns jsonb
language plpgsql
security definer
set search_path = public, pg_temp  -- replaced by the configured path, see 80_owners.sql (pg_catalog comes first by itself)
set standard_conforming_strings = on
set transform_null_equals = off
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set client_min_messages = error
set lock_timeout = '2s'
as $$
declare
  v_name constant text := 'f_' || pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', '');
  v_prepare constant text := 'prepare ' || v_name || ' as select 1 from ' || p_from;
  v_cursor refcursor;
  v_params text := '';
  v_oid oid;
  v_tree text;
  v_depends jsonb;
  v_read boolean := false;
  v_state text;
  v_message text;
begin
  begin
    -- EXECUTE runs several statements as willingly as one, a cursor runs none: its refusal names the command when there
    -- is exactly one. So a text that leaves the brackets around it gets no further.
    begin
      open v_cursor for execute v_prepare;
    exception when invalid_cursor_definition then
      get stacked diagnostics v_message = message_text;
    end;
    if pg_catalog.strpos(coalesce(v_message, ''), 'PREPARE') = 0 then
      return pg_catalog.jsonb_build_object('sqlstate', '42601', 'message', 'the text holds more than one statement');
    end if;
    -- Parsing runs one thing already: the input function of a literal's type, and with it the checks of a domain. So the
    -- text is parsed READ ONLY first, where what writes fails. On the way the parameters get the types they will have:
    -- they take part in the choice of operators and functions.
    begin
      set local transaction_read_only = on;
      execute v_prepare;
      select pg_catalog.array_to_string(s.parameter_types, ', ') into v_params from pg_catalog.pg_prepared_statements s where s.name = v_name;
      execute 'deallocate ' || v_name;
      v_read := true;
      raise exception using errcode = 'CSRB0';
    exception when sqlstate 'CSRB0' then
      if not v_read then raise; end if;
    end;
    v_read := false;
    execute 'create function countersign_scratch.' || v_name || '(' || coalesce(v_params, '') || ') returns setof integer begin atomic select 1 from ' || p_from || '; end';
    select p.oid, p.prosqlbody::text into v_oid, v_tree
    from pg_catalog.pg_proc p
    where p.proname = v_name and p.pronamespace::oid = 'countersign_scratch'::pg_catalog.regnamespace::oid;
    -- what Postgres itself says the text depends on: everything the database was not born with
    select coalesce(pg_catalog.jsonb_object_agg(d.class, d.oids), '{}') into v_depends
    from (select case d.refclassid::oid when 'pg_catalog.pg_proc'::pg_catalog.regclass::oid then 'functions'
                   when 'pg_catalog.pg_operator'::pg_catalog.regclass::oid then 'operators'
                   when 'pg_catalog.pg_type'::pg_catalog.regclass::oid then 'types' end as class,
                 pg_catalog.jsonb_agg(distinct d.refobjid::text) as oids
          from pg_catalog.pg_depend d
          where d.classid::oid = 'pg_catalog.pg_proc'::pg_catalog.regclass::oid and d.objid = v_oid and d.refobjid >= 16384::oid
            and d.refclassid::oid in ('pg_catalog.pg_proc'::pg_catalog.regclass::oid, 'pg_catalog.pg_operator'::pg_catalog.regclass::oid, 'pg_catalog.pg_type'::pg_catalog.regclass::oid)
          group by 1) d;
    v_read := true;
    raise exception using errcode = 'CSRB0';
  exception
    when sqlstate 'CSRB0' then
      if not v_read then raise; end if;
    when query_canceled or assert_failure or others then  -- OTHERS leaves those two out
      get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
      return pg_catalog.jsonb_build_object('sqlstate', v_state, 'message', v_message);
  end;

  return (
    -- every oid in the tree by the name of its field; opnos is a list
    select pg_catalog.jsonb_build_object(
      'functions', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] in ('funcid', 'opfuncid', 'hashfuncid', 'negfuncid', 'aggfnoid', 'winfnoid', 'tsmhandler', 'startInRangeFunc', 'endInRangeFunc')), '[]')
        || coalesce(v_depends->'functions'::text, '[]'),
      'operators', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] in ('opno', 'sortop', 'eqop', 'cycle_mark_neop')), '[]')
        || coalesce((select pg_catalog.jsonb_agg(distinct o) from pg_catalog.regexp_matches(v_tree, ':opnos \(o ([0-9 ]+)\)', 'g') l, pg_catalog.regexp_split_to_table(pg_catalog.btrim(l[1]), ' +') o), '[]')
        || coalesce(v_depends->'operators'::text, '[]'),
      'types', coalesce(v_depends->'types'::text, '[]')
        || coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] = 'typid'), '[]'),  -- RETURNING of SQL/JSON
      'relids', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] = 'relid'), '[]'))
    from pg_catalog.regexp_matches(v_tree, ':(funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid|tsmhandler|startInRangeFunc|endInRangeFunc|opno|sortop|eqop|cycle_mark_neop|relid|typid) ([1-9][0-9]*)', 'g') m)
    || pg_catalog.jsonb_build_object(
    -- relations with the columns read; attribute numbers are stored 7 higher, so that system columns have a place
    'relations', (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('oid', m[1], 'columns', ('[' || pg_catalog.replace(pg_catalog.btrim(m[2]), ' ', ',') || ']')::jsonb)), '[]')
      from pg_catalog.regexp_matches(v_tree, ':relid ([1-9][0-9]*)[^{}]*:selectedCols \(b([0-9 ]*)\)', 'g') m),
    'system_column', v_tree ~ ':varattno -[0-9]',
    'tablesample', pg_catalog.strpos(v_tree, 'TABLESAMPLE') > 0,
    'locking', pg_catalog.strpos(v_tree, ':hasForUpdate true') > 0);
end
$$;
comment on function countersign_exec.resolve(text) is
  'Every function, operator, type, relation and column that a FROM clause with agent text resolves to, according to Postgres: oids as jsonb; or the error ({sqlstate, message}).';
