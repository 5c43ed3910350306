-- A migration runs over rows that agents may not read, and whether it fails tells of them: CHECK (token like 's%') on a
-- secret table would be an oracle, without any human, and USING could copy a hidden column into a readable one. So an
-- expression of the agent's over hidden columns is found by the names in the statement. What is left is a type or a
-- constraint without an expression, which asks one fixed question; its error keeps quiet (see measure_migration).
create or replace function countersign_data.hidden_table_in(p_statement text, out hidden text, out tested boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens text[];
  v_kinds text[];
  v_alter boolean;
  v_expression boolean;
  v_depth integer := 0;
  v_deepest integer := 0;
  v_place integer;
  v_next integer;
  v_table record;
begin
  tested := false;
  select array_agg(t.token order by t.place), array_agg(t.kind order by t.place) into v_tokens, v_kinds
  from countersign_data.statement_tokens(rtrim(p_statement, E' \t\n;')) t where t.kind <> 'comment';
  for i in 1 .. coalesce(cardinality(v_tokens), 0) loop
    v_depth := v_depth + case when v_kinds[i] <> 'sign' then 0 when v_tokens[i] = '(' then 1 when v_tokens[i] = ')' then -1 else 0 end;
    v_deepest := greatest(v_deepest, v_depth);
  end loop;
  v_alter := v_tokens[1] = 'alter';
  v_expression := v_tokens && array['check', 'generated', 'where', 'exclude', 'of'] or (v_alter and v_tokens @> array['type', 'using'])
    or (v_tokens[1] = 'create' and (v_tokens[2] = 'index' or v_tokens[3] = 'index') and v_deepest > 1);
  -- a lone constraint that is NOT VALID looks at no row
  if v_tokens[cardinality(v_tokens) - 1 :] = array['not', 'valid']
    and (select count(*) from unnest(v_tokens) t where t in ('check', 'generated', 'exclude', 'type', 'references', 'of')) = 1 then
    v_expression := false;
    v_alter := false;
  end if;

  for i in 1 .. coalesce(cardinality(v_tokens), 0) loop
    continue when v_kinds[i] <> 'name' or v_tokens[i] not in ('table', 'only', 'exists', 'on', 'of', 'references');
    v_next := i + 1;
    while v_tokens[v_next] = '(' and v_kinds[v_next] = 'sign' loop  -- only (t) is only t
      v_next := v_next + 1;
    end loop;
    continue when v_kinds[v_next] is distinct from 'name';
    v_place := case when v_tokens[v_next + 1] = '.' and v_kinds[v_next + 2] = 'name' then v_next + 2 else v_next end;
    for v_table in
      select c.oid, countersign_data.qualified_name(c.oid) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relname::text = v_tokens[v_place] and c.relkind in ('r', 'p', 'm') and (v_place = v_next or n.nspname::text = v_tokens[v_next])
        and n.nspname !~ '^pg_' and countersign_data.relation_is_readable(c.oid, array[0]) is not true
    loop
      hidden := v_table.name;
      tested := (v_expression and (
            exists (select from pg_attribute a where a.attrelid = v_table.oid and a.attnum > 0 and not a.attisdropped and a.attname::text = any (v_tokens)
                      and not has_column_privilege('countersign_reader', a.attrelid, a.attnum, 'SELECT'))
            -- once as the table, once more as a whole row
            or (select count(*) from unnest(v_tokens) t where t = v_tokens[v_place]) > 1))
        -- whether rows of the default partition fit the bounds of a new one asks any value of them
        or (v_tokens[i] = 'of' and v_tokens[i - 1] = 'partition')
        -- rows of the agent's own, looked up in a table that it may not read
        or (v_alter and v_tokens[i] = 'references' and v_tokens && array['foreign', 'default', 'generated']);
      if tested then
        return;
      end if;
    end loop;
  end loop;
end
$$;
comment on function countersign_data.hidden_table_in(text) is 'A table named in a migration that agents may not read whole, and whether an expression of the statement would test its hidden rows.';
