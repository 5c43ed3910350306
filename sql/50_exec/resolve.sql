-- What does an agent's text call? A parse tree does not say: operators, casts, domains and attribute notation hide
-- functions. So Postgres resolves it: as a role without any data right, a function with the text as its body is created
-- in a schema that is always empty, its stored tree is read, and all is rolled back. Nothing of the text is executed.
-- (A view would do too, at three times the cost: D013.)
-- Owned by countersign_analyst. The caller has made sure that the text is exactly one statement.
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
  v_tree text;
  v_read boolean := false;
  v_state text;
  v_message text;
begin
  begin
    execute 'create function countersign_scratch.' || v_name || '() returns setof integer begin atomic select 1 from ' || p_from || '; end';
    select p.prosqlbody::text into v_tree
    from pg_catalog.pg_proc p
    where p.proname = v_name and p.pronamespace = 'countersign_scratch'::pg_catalog.regnamespace;
    v_read := true;
    raise exception using errcode = 'CSRB0';
  exception
    when sqlstate 'CSRB0' then
      if not v_read then raise; end if;
    when query_canceled or others then
      get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
      return pg_catalog.jsonb_build_object('sqlstate', v_state, 'message', v_message);
  end;

  return (
    -- every oid in the tree by the name of its field; opnos is a list
    select pg_catalog.jsonb_build_object(
      'functions', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] in ('funcid', 'opfuncid', 'hashfuncid', 'negfuncid', 'aggfnoid', 'winfnoid', 'tsmhandler')), '[]'),
      'operators', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] in ('opno', 'sortop', 'eqop')), '[]')
        || coalesce((select pg_catalog.jsonb_agg(distinct o) from pg_catalog.regexp_matches(v_tree, ':opnos \(o ([0-9 ]+)\)', 'g') l, pg_catalog.regexp_split_to_table(pg_catalog.btrim(l[1]), ' +') o), '[]'),
      'types', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] in ('resulttype', 'consttype', 'vartype', 'funcresulttype')), '[]'),
      'relids', coalesce(pg_catalog.jsonb_agg(distinct m[2]) filter (where m[1] = 'relid'), '[]'))
    from pg_catalog.regexp_matches(v_tree, ':(funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid|tsmhandler|opno|sortop|eqop|resulttype|consttype|vartype|funcresulttype|relid) ([1-9][0-9]*)', 'g') m)
    || pg_catalog.jsonb_build_object(
    -- relations with the columns read; attribute numbers are stored 7 higher, so that system columns have a place
    'relations', (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('oid', m[1], 'columns', pg_catalog.btrim(m[2]))), '[]')
      from pg_catalog.regexp_matches(v_tree, ':relid ([1-9][0-9]*)[^{}]*:selectedCols \(b([0-9 ]*)\)', 'g') m),
    'system_column', v_tree ~ ':varattno -[0-9]',
    'tablesample', pg_catalog.strpos(v_tree, 'TABLESAMPLE') > 0,
    'locking', pg_catalog.strpos(v_tree, ':hasForUpdate true') > 0);
end
$$;
comment on function countersign_exec.resolve(text) is
  'Every function, operator, type, relation and column that a FROM clause with agent text resolves to, according to Postgres: oids as jsonb; or the error ({sqlstate, message}).';
