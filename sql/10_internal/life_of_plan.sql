create or replace function countersign_data.life_of_plan(p_plan countersign_data.plan)
returns interval
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a host may ask for less than policy gives; least() passes over a null
  return case
    when p_plan.gate = '{}' then least(p_plan.plan_ttl, countersign_data.policy_value('plan_ttl', coalesce(p_plan.relation, 0))::interval)
    else least(p_plan.approval_ttl, countersign_data.policy_value('approval_ttl', coalesce(p_plan.relation, 0))::interval) end;
end
$$;
comment on function countersign_data.life_of_plan(countersign_data.plan) is 'How long a new plan lives: as policy says, or less if its host asks for less.';
