-- The gate: why a human must decide. Nothing an agent passes is read here but what was measured.
create or replace function countersign_data.gate_reasons(p_plan countersign_data.plan)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reasons text[] := coalesce(p_plan.gate, '{}');  -- what a host asks for itself
  v_row record;
  v_rejection countersign_data.tombstone;
begin
  if p_plan.kind = 'migration' then
    v_reasons := v_reasons || 'Migrations always wait for a human.'::text;
  end if;

  v_reasons := array_remove(v_reasons || countersign_data.line_passed(p_plan), null);

  for v_row in
    select e.value->>'table' as name from jsonb_array_elements(p_plan.shown->'effects') e where not (e.value->>'writable')::boolean
  loop
    v_reasons := v_reasons || format('It reaches %s by a cascade or a trigger, outside the write allowlist.', v_row.name);
  end loop;

  if p_plan.kind = 'update' then
    for v_row in
      select string_agg(c, ', ' order by c) as names from unnest(p_plan.columns) c where not has_column_privilege('countersign_reader', p_plan.relation, c, 'SELECT')
      having count(*) > 0
    loop
      v_reasons := v_reasons || format('It overwrites what agents may not read: %s.', v_row.names);
    end loop;
  end if;

  v_rejection := countersign_data.rejection_of_like(p_plan, '-infinity');
  if v_rejection.plan_token is not null then
    v_reasons := v_reasons || format('%s rejected the same %s on %s%s.', v_rejection.rejected_by, case p_plan.kind when 'host' then 'payload' else 'statement' end, to_char(v_rejection.ts at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), coalesce(': ' || rtrim(left(v_rejection.reason, 200), '.'), ''));
  end if;

  if v_reasons = '{}' and (p_plan.kind <> 'host' or p_plan.total_rows > 0) then
    v_reasons := array_remove(array[countersign_data.over_budget(p_plan)], null);
  end if;
  return v_reasons;
end
$$;
comment on function countersign_data.gate_reasons(countersign_data.plan) is 'Why this plan waits for a human, in sentences; empty when it may run at once.';
