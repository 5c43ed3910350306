create or replace function countersign_data.plan_fingerprint(p_plan countersign_data.plan)
returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a statement says itself what it does, a payload only together with the tool that takes it
  return sha256(convert_to(p_plan.kind || E'\n' || case p_plan.kind when 'host' then p_plan.tool || E'\n' else '' end
                           || p_plan.statement || E'\n' || p_plan.params::text, 'UTF8'));
end
$$;
comment on function countersign_data.plan_fingerprint(countersign_data.plan) is 'What tombstones remember: equal for plans that would do the same.';
