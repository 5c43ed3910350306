create or replace function countersign_data.judge_resolved(p_facts jsonb, p_for_write boolean)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad text;
  v_relation record;
begin
  if p_facts ? 'sqlstate' then
    return countersign_data.refusal_of_error(p_facts->>'sqlstate', p_facts->>'message');
  end if;

  select (select n.nspname || '.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.oid = f) into v_bad
  from countersign_data.functions_reached(p_facts->'functions', p_facts->'operators', p_facts->'types') f
  where not countersign_data.function_is_allowed(f, p_for_write)
  order by f
  limit 1;
  if found then
    return countersign_data.outcome_refused('UNSAFE_FUNCTION', format('The text calls %s(), which agent SQL may not call.', v_bad),
      'Write it without that, or ask an administrator to run: countersign allow function ' || v_bad);
  end if;

  -- a preview marks the rows it touched in their system columns, although it is rolled back: a condition could tell
  if p_for_write and ((p_facts->>'system_column')::boolean or (p_facts->>'tablesample')::boolean or (p_facts->>'locking')::boolean) then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'The text uses a system column, TABLESAMPLE or row locking.',
      'Name rows by their ordinary columns.');
  elsif (p_facts->>'locking')::boolean then
    return countersign_data.outcome_refused('NOT_A_SELECT', 'FOR UPDATE and FOR SHARE lock rows.', 'Leave the locking clause out; a read needs no lock.');
  end if;

  select r.oid, r.attnums into v_relation
  from (
    select (x->>'oid')::oid as oid, coalesce((select array_agg(a.value::integer - 7) from jsonb_array_elements(x->'columns') a), '{}') as attnums
    from jsonb_array_elements(p_facts->'relations') x
    union all  -- a relation whose columns could not be read off the tree counts as read whole
    select i.value::oid, array[0]
    from jsonb_array_elements_text(p_facts->'relids') i
    where i.value not in (select x->>'oid' from jsonb_array_elements(p_facts->'relations') x)) r
  join pg_class c on c.oid = r.oid
  where not countersign_data.relation_is_readable(r.oid, r.attnums) or c.relkind = 'f' or c.relispartition
  limit 1;
  if found then
    return countersign_data.refusal_not_readable(v_relation.oid, v_relation.attnums, p_facts->>'text');
  end if;
  return null;
end
$$;
comment on function countersign_data.judge_resolved(jsonb, boolean) is 'The refusal that what a text resolves to deserves, or null.';
