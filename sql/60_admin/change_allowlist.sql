-- The allowlist is grants, so allow and revoke make grants, with the rights of whoever calls (security invoker).
create or replace function countersign.change_allowlist(p_grant boolean, p_verb text, p_name text, p_columns text[])
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
as $$
declare
  v_relation oid := countersign.find_relation(p_name);
  v_name text;
  v_kind "char";
  v_columns text := '';
  v_sequence text;
  v_readable text[];
  v_hidden text[];
begin
  if p_verb = 'function' then
    return countersign.change_allowed_function(p_grant, p_name);
  elsif p_verb not in ('read', 'write') then
    return row(false, 'INVALID_ARGUMENTS', format('There is no %s to allow.', p_verb), 'Allow read, write or function.', '{}')::countersign.outcome;
  elsif v_relation is null then
    return row(false, 'UNKNOWN_TABLE', format('There is no table %s.', p_name), 'Give it as schema.table.', '{}')::countersign.outcome;
  end if;
  select format('%I.%I', n.nspname, c.relname), c.relkind into v_name, v_kind from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = v_relation;
  if v_kind = 'f' or (p_verb = 'write' and v_kind not in ('r', 'p')) or (select c.relispartition from pg_class c where c.oid = v_relation)
     or exists (select from pg_rewrite r where r.ev_class = v_relation and r.rulename <> '_RETURN' and p_verb = 'write') then
    return row(false, 'INVALID_ARGUMENTS', format('%s cannot be allowed for %s.', v_name, p_verb),
      'Allow tables (and for read, views); of a partitioned table its parent; no foreign tables and no tables with rules.', '{}')::countersign.outcome;
  end if;
  if p_columns is not null then
    if exists (select from unnest(p_columns) c where not exists (select from pg_attribute a where a.attrelid = v_relation and a.attname::text = c and a.attnum > 0 and not a.attisdropped)) then
      return row(false, 'UNKNOWN_COLUMN', format('%s lacks one of the columns %s.', v_name, array_to_string(p_columns, ', ')), 'Check the names.', '{}')::countersign.outcome;
    end if;
    v_columns := ' (' || (select string_agg(quote_ident(c), ', ') from unnest(p_columns) c) || ')';
  end if;

  if p_grant then
    execute format('grant usage on schema %s to countersign_reader, countersign_writer, countersign_analyst',
      (select c.relnamespace::regnamespace from pg_class c where c.oid = v_relation));
  end if;
  if p_verb = 'read' then
    perform countersign.change_privilege(p_grant, 'select', 'countersign_reader', v_relation, p_columns);
  else
    perform countersign.change_privilege(p_grant, 'insert', 'countersign_writer', v_relation, p_columns);
    perform countersign.change_privilege(p_grant, 'update', 'countersign_writer', v_relation, p_columns);
    -- who may write a part of a row may not delete it whole
    perform countersign.change_privilege(p_grant and p_columns is null, 'delete', 'countersign_writer', v_relation, null);
    for v_sequence in  -- serial columns draw from a sequence of their own
      select d.objid::regclass::text from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
      where d.refobjid = v_relation and d.deptype = 'a' and d.classid = 'pg_class'::regclass and p_grant
    loop
      execute format('grant usage on sequence %s to countersign_writer', v_sequence);
    end loop;
  end if;
  -- the writer reads what the reader reads, never more: else a preview would be an oracle
  v_readable := array(
    select a.attname::text from pg_attribute a
    where a.attrelid = v_relation and a.attnum > 0 and not a.attisdropped and has_column_privilege('countersign_reader', v_relation, a.attnum, 'SELECT')
    order by a.attnum);
  perform countersign.change_privilege(v_readable <> '{}', 'select', 'countersign_writer', v_relation,
    -- before 18 the image of a row before an update is found by its place
    case when v_readable <> '{}' and not has_table_privilege('countersign_reader', v_relation, 'SELECT') then v_readable || case when v_kind in ('r', 'p') then '{ctid,tableoid}'::text[] end end);
  perform countersign.record_policy(format('%s %s on %s%s', case when p_grant then 'allow' else 'revoke' end, p_verb, v_name, v_columns));
  v_hidden := array(
    select a.attname::text from pg_attribute a
    where a.attrelid = v_relation and a.attnum > 0 and not a.attisdropped and a.attname::text <> all (v_readable)
      and has_column_privilege('countersign_writer', v_relation, a.attnum, 'INSERT, UPDATE')
    order by a.attnum);
  return row(true, null, format('%s %s on %s%s.', case when p_grant then 'Allowed' else 'Revoked' end, p_verb, v_name, v_columns)
      || case when v_hidden = '{}' then '' else format(' Agents may write what they may not read: %s.', array_to_string(v_hidden, ', ')) end,
    case when v_hidden = '{}' then null
         when v_readable = '{}' then format('They see no row of it before they change it: countersign allow read %1$s, or countersign revoke write %1$s', v_name)
         else 'Should they not: countersign revoke write ' || v_name || coalesce('; countersign allow write ' || v_name || ' --columns ' || (
           select string_agg(c, ',') from unnest(v_readable) c where has_column_privilege('countersign_writer', v_relation, c, 'INSERT, UPDATE')), '') end,
    '{}')::countersign.outcome;
end
$$;
comment on function countersign.change_allowlist(boolean, text, text, text[]) is 'Administrator: the grants behind allow and revoke.';
