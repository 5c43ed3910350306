-- Names what may not be read, and what an administrator would run. A hidden column is named only when the text itself
-- names it: others would be told by * or by an alias list, and describe_schema does not name them either.
create or replace function countersign_data.refusal_not_readable(p_relation oid, p_attnums integer[], p_text text)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := countersign_data.qualified_name(p_relation);
  v_kind text;
  v_readable text[] := '{}';
  v_named text[];
begin
  select case when c.relispartition then 'partition' when c.relkind = 'f' then 'foreign' when n.nspname ~ '^(pg_|information_schema$|countersign(_data|_exec|_scratch)?$)' then 'system' else 'table' end
  into v_kind
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation;
  if v_kind <> 'table' then
    return countersign_data.outcome_refused('NOT_READABLE', format('The text reads %s, which is not readable for agents.', v_table), case v_kind
      when 'partition' then 'Read the partitioned table that it belongs to; describe_schema lists what is readable.'
      when 'foreign' then 'Foreign tables are not for agents, since a read of one acts outside this database. Use describe_schema to see what is readable.'
      else 'Leave it out: the catalogs and Countersign''s own tables are not for agents. describe_schema tells what there is.' end);
  end if;

  if countersign_data.relation_is_readable(p_relation, '{}') then
    v_readable := array(
      select a.attname::text from pg_attribute a
      where a.attrelid = p_relation and a.attnum > 0 and not a.attisdropped and has_column_privilege('countersign_reader', p_relation, a.attnum, 'SELECT')
      order by a.attnum);
  end if;
  v_named := array(
    select a.attname::text from pg_attribute a
    where a.attrelid = p_relation and a.attnum = any (p_attnums) and a.attnum > 0 and not a.attisdropped and a.attname::text <> all (v_readable)
      and a.attname::text in (select t.token from countersign_data.statement_tokens(p_text) t where t.kind = 'name')
    order by a.attnum);
  if v_readable = '{}' then
    return countersign_data.outcome_refused('NOT_READABLE', format('The text reads %s, which is not readable for agents.', v_table),
      'Use describe_schema to see what is readable; or ask an administrator to run: ' || countersign_data.allow_command('read', p_relation, v_named));
  elsif v_named = '{}' then
    return countersign_data.outcome_refused('NOT_READABLE', format('The text reads %s whole, or a column of it by its place, and not every column of it is readable for agents.', v_table),
      'Name the columns you need; describe_schema with this table shows the readable ones. Or ask an administrator to run: ' || countersign_data.allow_command('read', p_relation));
  end if;
  return countersign_data.outcome_refused('NOT_READABLE', format('The text reads %s of %s, which is not readable for agents.', countersign_data.visible_text(array_to_string(v_named, ', ')), v_table),
    'Leave it out; describe_schema with this table shows the readable columns. Or ask an administrator to run: ' || countersign_data.allow_command('read', p_relation, v_readable || v_named));
end
$$;
comment on function countersign_data.refusal_not_readable(oid, integer[], text) is 'The refusal for a text that reads a relation, or columns of it, that agents may not.';
