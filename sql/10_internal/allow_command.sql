create or replace function countersign_data.allow_command(p_verb text, p_relation oid, p_columns text[] default '{}')
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text := countersign_data.qualified_name(p_relation);
begin
  if v_table ~ '[^a-z0-9_.]' then  -- as a shell takes it whole
    v_table := '''' || replace(v_table, '''', '''\''''') || '''';
  end if;
  return concat_ws(' ', 'countersign allow', p_verb, v_table, case
    when p_columns = '{}' then null
    -- the hint stands outside of what is marked as data: only names that cannot be anything else
    when exists (select from unnest(p_columns) c where c !~ '^[a-z_][a-z0-9_]*$') then '--columns …'
    else '--columns ' || array_to_string(p_columns, ',') end);
end
$$;
comment on function countersign_data.allow_command(text, oid, text[]) is 'What an administrator runs to allow a table, or exactly these columns of it.';
