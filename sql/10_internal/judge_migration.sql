create or replace function countersign_data.judge_migration(p_measured jsonb)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  with changed as (
    select c.value->>0 as kind, c.value->>1 as object, c.value->>2 as fact, true as added from jsonb_array_elements(p_measured->'added') c
    union all
    select c.value->>0, c.value->>1, c.value->>2, false from jsonb_array_elements(p_measured->'removed') c
  ), fresh as (  -- what the migration itself created or dropped; what it only altered has a line on both sides
    select c.object from changed c where c.kind in ('relation', 'type') group by c.object having count(distinct c.added) = 1
  )
  select c.kind, c.object, c.fact into v_bad
  from changed c
  where (c.kind in ('function', 'default privilege', 'schema', 'temporary')
      or (c.kind in ('owner', 'privilege', 'row security', 'view security', 'inheritance', 'trigger', 'policy', 'rule')
          -- an object's own lines begin with its name
          and not exists (select from fresh f where c.object = f.object or starts_with(c.object, f.object || ' ') or starts_with(c.object, f.object || '.'))
          -- a dropped column takes its own privileges along
          and not (c.kind = 'privilege' and c.object in (select d.object from changed d where d.kind = 'column')))
      or (c.kind = 'relation' and c.fact ~ '^(foreign table|materialized view)')
      or (c.kind = 'call' and c.added and c.fact not in (select a.signature from countersign_data.allowed_function a)))
  order by c.kind
  limit 1;
  if found then
    return countersign_data.outcome_refused(case v_bad.kind when 'call' then 'UNSAFE_FUNCTION' else 'UNSUPPORTED_STATEMENT' end,
      format('The migration would change a %s (%s %s), which agents may not.', v_bad.kind, v_bad.object, left(v_bad.fact, 200)),
      'Leave that part out; privileges, owners, functions, triggers, policies and inheritance are changed by an administrator.');
  end if;
  select c.value->>1 as object, c.value->>2 as fact into v_bad
  from jsonb_array_elements(p_measured->'added') c
    -- by name from the catalog: to_regclass raises where the engine has no USAGE on the schema
    left join (select b.oid, b.relrowsecurity, format('%I.%I', n.nspname, b.relname) as name from pg_class b join pg_namespace n on n.oid = b.relnamespace) base on base.name = c.value->>2
  where c.value->>0 = 'read'
    and (countersign_data.relation_is_readable(base.oid, array[0]) is not true
      -- a view reads as its owner, for whom policies do not count, unless it is the invoker's
      or (base.relrowsecurity
        and not exists (select from jsonb_array_elements(p_measured->'added') o where o.value->>0 = 'view security' and o.value->>1 = c.value->>1 and o.value->>2 ~ '^security_invoker=(t|true|on|yes|1)$')))
  limit 1;
  if found then
    return countersign_data.outcome_refused('NOT_READABLE', format('The view %s would read %s, which agents may not read, or not every row of.', v_bad.object, v_bad.fact),
      'Base the view on readable tables' || case when current_setting('server_version_num')::integer >= 150000 then ' (with security_invoker = true where rows are hidden)' else '' end || ', or ask an administrator: countersign allow read ' || v_bad.fact);
  end if;
  return null;
end
$$;
comment on function countersign_data.judge_migration(jsonb) is 'The refusal that what a migration did deserves, or null.';
