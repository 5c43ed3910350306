create or replace function countersign_data.bound_params(p_plan countersign_data.plan)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- an insert binds all its rows as one parameter, a JSON array of objects
  return (
    select case p_plan.kind
      when 'insert' then jsonb_build_array((
        select jsonb_agg((select jsonb_object_agg(c.name, r.value->(c.n - 1)::integer) from unnest(p_plan.columns) with ordinality as c(name, n)) order by r.ordinality)
        from jsonb_array_elements(p_plan.params) with ordinality as r))
      else p_plan.params
    end);
end
$$;
comment on function countersign_data.bound_params(countersign_data.plan) is 'The parameters as the built SQL takes them.';
