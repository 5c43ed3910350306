create or replace function countersign_data.line_passed(p_plan countersign_data.plan)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row record;
begin
  -- the total against the target's line, and every table touched against its own
  select x.* into v_row
  from (select w.*, countersign_data.policy_number('approval_required_above_rows', w.relation) as line
        from (select p_plan.relation, p_plan.total_rows as rows, true as whole
              union all
              select e.key::oid, (e.value->>0)::bigint + (e.value->>1)::bigint + (e.value->>2)::bigint, false
              from jsonb_each(case p_plan.kind when 'migration' then p_plan.effects->'effects' else p_plan.effects end) e
              where e.key <> p_plan.relation::text) w) x
  where x.rows > x.line
  order by x.whole desc, x.rows desc
  limit 1;
  if not found then
    return null;
  elsif p_plan.kind = 'host' then
    return format('It changes %s things outside this database, as its host counts; more than %s wait for a human.', v_row.rows, v_row.line);
  elsif v_row.whole then
    return format('It changes %s rows in all tables together; more than %s wait for a human.', v_row.rows, v_row.line);
  end if;
  return format('It changes %s rows of %s; more than %s wait for a human there.', v_row.rows, countersign_data.qualified_name(v_row.relation), v_row.line);
end
$$;
comment on function countersign_data.line_passed(countersign_data.plan) is 'The sentence for a plan that changes more rows than the policy lets pass without a human, or null.';
