-- The gate: why a human must decide. Nothing an agent passes is read here but what was measured.
create or replace function countersign_data.gate_reasons(p_plan countersign_data.plan)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reasons text[] := coalesce(p_plan.gate, '{}');  -- what a host asks for itself
  v_effects constant jsonb := case p_plan.kind when 'migration' then p_plan.effects->'effects' else p_plan.effects end;
  v_row record;
begin
  if p_plan.kind = 'migration' then
    v_reasons := v_reasons || 'Migrations always wait for a human.'::text;
  end if;

  if p_plan.kind <> 'host' or p_plan.total_rows > 0 then
    for v_row in
      select x.*
      from (select w.*, countersign_data.policy_number('approval_required_above_rows', w.relation) as line
            from (select p_plan.relation, p_plan.total_rows as rows, true as whole
                  union all
                  select e.key::oid, (e.value->>0)::bigint + (e.value->>1)::bigint + (e.value->>2)::bigint, false from jsonb_each(v_effects) e
                  where e.key <> p_plan.relation::text) w) x
      where x.rows > x.line
      order by x.whole desc, x.rows desc
      limit 1
    loop
      v_reasons := v_reasons || case
        when p_plan.kind = 'host' then format('It changes %s things outside this database, as its host counts; more than %s wait for a human.', v_row.rows, v_row.line)
        when v_row.whole then format('It changes %s rows in all tables together; more than %s wait for a human.', v_row.rows, v_row.line)
        else format('It changes %s rows of %s; more than %s wait for a human there.', v_row.rows, countersign_data.qualified_name(v_row.relation), v_row.line) end;
    end loop;
    for v_row in
      select e.value->>'table' as name from jsonb_array_elements(p_plan.shown->'effects') e where not (e.value->>'writable')::boolean
    loop
      v_reasons := v_reasons || format('It reaches %s by a cascade or a trigger, outside the write allowlist.', v_row.name);
    end loop;
  end if;

  for v_row in
    select t.rejected_by, t.ts, t.reason from countersign_data.tombstone t where t.fingerprint = p_plan.fingerprint order by t.ts desc limit 1
  loop
    v_reasons := v_reasons || format('%s rejected the same %s on %s%s.', v_row.rejected_by, case p_plan.kind when 'host' then 'payload' else 'statement' end, to_char(v_row.ts at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), coalesce(': ' || left(v_row.reason, 200), ''));
  end loop;

  if v_reasons = '{}' and (p_plan.kind <> 'host' or p_plan.total_rows > 0) then
    v_reasons := array_remove(array[countersign_data.over_budget(p_plan)], null);
  end if;
  return v_reasons;
end
$$;
comment on function countersign_data.gate_reasons(countersign_data.plan) is 'Why this plan waits for a human, in sentences; empty when it may run at once.';
