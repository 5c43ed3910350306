-- What does an agent's text call? A parse tree does not say: operators, casts, domains and attribute notation hide
-- functions. So Postgres resolves it: as a role without any data right, a view is created over the text in a schema that
-- is always empty, its stored tree is read, and all is rolled back. Nothing of the text is executed.
-- Owned by countersign_analyst. The caller has made sure that the text is exactly one statement.
create or replace function countersign_exec.resolve(p_from text)
returns jsonb
language plpgsql
security definer
set search_path = pg_catalog, public, pg_temp  -- replaced by the configured path, see 80_owners.sql
set standard_conforming_strings = on
set transform_null_equals = off
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set client_min_messages = error
set lock_timeout = '2s'
as $$
declare
  v_view constant text := 'v_' || replace(pg_catalog.gen_random_uuid()::text, '-', '');
  v_tree text;
  v_view_oid oid;
  v_read boolean := false;
  v_state text;
  v_message text;
begin
  begin
    execute 'create view countersign_scratch.' || v_view || ' as select 1 as one from ' || p_from;
    select r.ev_action::text, r.ev_class into v_tree, v_view_oid
    from pg_catalog.pg_rewrite r
    where r.ev_class = ('countersign_scratch.' || v_view)::pg_catalog.regclass;
    v_read := true;
    raise exception using errcode = 'CSRB0';
  exception
    when sqlstate 'CSRB0' then
      if not v_read then raise; end if;
    when query_canceled or others then
      get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
      return pg_catalog.jsonb_build_object('sqlstate', v_state, 'message', v_message);
  end;

  return pg_catalog.jsonb_build_object(
    -- every function, by whichever kind of node
    'functions', (
      select coalesce(pg_catalog.jsonb_agg(distinct m[1]::bigint), '[]'::jsonb)
      from pg_catalog.regexp_matches(v_tree, ':(?:funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid|tsmhandler) ([1-9][0-9]*)', 'g') m),
    'operators', (
      select coalesce(pg_catalog.jsonb_agg(distinct o::bigint), '[]'::jsonb)
      from pg_catalog.regexp_matches(v_tree, ':(?:opno|sortop|eqop|opnos) (?:\(o )?([0-9 ]+)', 'g') m,
           pg_catalog.regexp_split_to_table(pg_catalog.btrim(m[1]), ' +') o
      where o <> '0'),
    'types', (
      select coalesce(pg_catalog.jsonb_agg(distinct m[1]::bigint), '[]'::jsonb)
      from pg_catalog.regexp_matches(v_tree, ':(?:resulttype|consttype|vartype|funcresulttype) ([0-9]+)', 'g') m),
    -- relations with the columns read; attribute numbers are stored 7 higher, so that system columns have a place
    'relations', (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('oid', m[1]::bigint, 'columns', pg_catalog.btrim(m[2]))), '[]'::jsonb)
      from pg_catalog.regexp_matches(v_tree, ':relid ([0-9]+)[^{}]*?:selectedCols \(b([0-9 ]*)\)', 'g') m
      where m[1]::oid <> v_view_oid),
    'relids', (
      select coalesce(pg_catalog.jsonb_agg(distinct m[1]::bigint), '[]'::jsonb)
      from pg_catalog.regexp_matches(v_tree, ':relid ([1-9][0-9]*)', 'g') m
      where m[1]::oid <> v_view_oid),
    'system_column', v_tree ~ ':varattno -[0-9]',
    'tablesample', v_tree ~ '\{(RANGE)?TABLESAMPLE',
    'locking', v_tree ~ ':hasForUpdate true');
end
$$;
comment on function countersign_exec.resolve(text) is
  'Every function, operator, type, relation and column that a FROM clause with agent text resolves to, according to Postgres: oids as jsonb; or the error ({sqlstate, message}).';
