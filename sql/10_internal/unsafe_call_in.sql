-- A migration cannot be resolved without running it, and its USING and DEFAULT expressions run with it. So what it would
-- call is looked for by name beforehand, on the strict side: a name before a bracket, an attribute that is a function,
-- an operator, a type whose domain checks call out. What it stores is judged by what it did, see judge_migration.
create or replace function countersign_data.unsafe_call_in(p_statement text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens text[];
  v_kinds text[];
  v_names text[];
  v_called text[] := '{}';
  v_attributes text[] := '{}';
  v_signs text := '';
  v_start integer;
  v_found text;
begin
  select array_agg(t.token order by t.place), array_agg(t.kind order by t.place), array_agg(distinct t.token) filter (where t.kind = 'name')
  into v_tokens, v_kinds, v_names
  from countersign_data.statement_tokens(p_statement) t where t.kind <> 'comment';

  for i in 1 .. coalesce(cardinality(v_tokens), 0) loop
    if v_kinds[i] = 'name' and v_tokens[i + 1] = '(' and v_kinds[i + 1] = 'sign' then
      v_start := i;
      while v_tokens[v_start - 1] = '.' and v_kinds[v_start - 2] = 'name' loop
        v_start := v_start - 2;
      end loop;
      -- there a table is named, and its columns follow
      if coalesce(v_tokens[v_start - 1] not in ('table', 'view', 'index', 'on', 'references', 'exists'), true) then
        v_called := v_called || v_tokens[i];
      end if;
    elsif v_kinds[i] = 'name' and v_tokens[i - 1] = '.' then
      v_attributes := v_attributes || v_tokens[i];
    end if;
    v_signs := v_signs || case when v_kinds[i] = 'sign' and v_tokens[i] ~ '^[-+*/<>=~!@#%^&|`?:]$' then v_tokens[i] else ' ' end;
  end loop;

  with candidate as materialized (
    select p.oid
    from pg_proc p
    where p.proname = any (v_called::name[])
      or (p.oid >= 16384 and p.pronargs = 1 and p.proname = any (v_attributes::name[]) and (select t.typrelid <> 0 from pg_type t where t.oid = p.proargtypes[0]))
    union all
    select o.oprcode from pg_operator o where o.oid >= 16384 and strpos(v_signs, o.oprname::text) > 0 and not countersign_data.function_is_allowed(o.oprcode, false)
    union all
    select c.castfunc from pg_cast c
    where c.oid >= 16384 and c.castfunc <> 0 and (strpos(v_signs, '::') > 0 or v_names && array['cast', 'type']
        or (c.castcontext <> 'e' and v_names && array['default', 'generated', 'check', 'where', 'index', 'exclude']))  -- these need not be written
      and not countersign_data.function_is_allowed(c.castfunc, false)
    union all
    select f
    from pg_type t, countersign_data.functions_reached('[]', '[]', jsonb_build_array(t.oid::text)) f
    where t.oid >= 16384 and t.typname = any (v_names::name[]) and not countersign_data.function_is_allowed(f, false)
      and (t.typtype in ('d', 'r') or (t.typtype = 'c' and (select c.relkind = 'c' from pg_class c where c.oid = t.typrelid))))
  select n.nspname || '.' || p.proname into v_found
  from (select distinct c.oid from candidate c offset 0) c join pg_proc p on p.oid = c.oid join pg_namespace n on n.oid = p.pronamespace
  where n.nspname !~ '^countersign(_data|_exec|_scratch)?$' and n.nspname <> 'information_schema' and not countersign_data.migration_may_call(c.oid)
  order by 1 limit 1;
  return v_found;
end
$$;
comment on function countersign_data.unsafe_call_in(text) is 'A function that running a migration might call and may not, or null.';
