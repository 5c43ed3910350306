create or replace function countersign_data.check_target(p_kind text, p_name text, p_relation oid, p_columns text[])
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_privilege constant text := upper(p_kind);
  v_class record;
  v_column text;
  v_why text;
begin
  if p_relation is null then
    return countersign_data.outcome_refused('UNKNOWN_TABLE', format('There is no table %s.', left(countersign_data.visible_text(coalesce(p_name, '(none)')), 200)),
      'Call describe_schema for the tables there are.');
  end if;
  select c.relkind, c.relispartition, c.relnamespace, countersign_data.qualified_name(c.oid) as name into v_class from pg_class c where c.oid = p_relation;

  v_why := case
    when v_class.relkind not in ('r', 'p') then 'it is not an ordinary table, so what a write to it does cannot be measured'
    when v_class.relnamespace = 'pg_catalog'::regnamespace then 'it is a system catalog'
    when exists (select from pg_rewrite r where r.ev_class = p_relation and r.rulename <> '_RETURN') then 'rewrite rules stand on it, so what a write does is not what it says'
    when not has_schema_privilege('countersign_writer', v_class.relnamespace, 'USAGE') then format('%s is not granted on it', v_privilege)
    when p_kind = 'delete' and not has_table_privilege('countersign_writer', p_relation, 'DELETE') then 'DELETE is not granted on it'
    when p_kind <> 'delete' and not has_any_column_privilege('countersign_writer', p_relation, v_privilege) then format('%s is not granted on it', v_privilege)
  end;
  if v_why is not null then
    return countersign_data.outcome_refused('NOT_WRITABLE', format('%s may not be written (%s): %s.', v_class.name, p_kind, v_why),
      'Call describe_schema to see which tables are writable, or ask an administrator to run: ' || countersign_data.allow_command('write', p_relation));
  end if;

  foreach v_column in array coalesce(p_columns, '{}') loop
    if not exists (select from pg_attribute a where a.attrelid = p_relation and a.attname::text = v_column and a.attnum > 0 and not a.attisdropped) then
      return countersign_data.outcome_refused('UNKNOWN_COLUMN', format('%s has no column %s.', v_class.name, left(countersign_data.visible_text(v_column), 200)),
        'Call describe_schema with this table for its columns.');
    end if;
    if not has_column_privilege('countersign_writer', p_relation, v_column, v_privilege) then
      return countersign_data.outcome_refused('NOT_WRITABLE', format('Column %s of %s may not be written.', v_column, v_class.name),
        'Leave the column out, or ask an administrator to run: ' || countersign_data.allow_command('write', p_relation, array(
          select case when a.attname::text = any (p_columns) or has_column_privilege('countersign_reader', p_relation, a.attnum, 'SELECT') then a.attname::text else '…' end
          from pg_attribute a
          where a.attrelid = p_relation and a.attnum > 0 and not a.attisdropped
            and (a.attname::text = v_column or has_column_privilege('countersign_writer', p_relation, a.attnum, 'INSERT, UPDATE'))
          order by a.attnum)));
    end if;
  end loop;
  return null;
end
$$;
comment on function countersign_data.check_target(text, text, oid, text[]) is 'The refusal that a write to this table and these columns deserves, or null. The allowlist is the grants of countersign_writer.';
