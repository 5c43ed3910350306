create or replace function countersign_data.check_rows(p_plan countersign_data.plan)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap constant bigint := countersign_data.policy_number('hard_max_rows', p_plan.relation);
begin
  if coalesce(cardinality(p_plan.columns), 0) = 0 or jsonb_array_length(p_plan.params) = 0 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'insert_rows needs at least one column and one row.', 'Give columns: [name, …] and rows: [[value, …], …].');
  elsif (select count(distinct c) from unnest(p_plan.columns) c) <> cardinality(p_plan.columns) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'A column is named twice.', 'Name each column once.');
  elsif exists (select from jsonb_array_elements(p_plan.params) r
                where case when jsonb_typeof(r.value) = 'array' then jsonb_array_length(r.value) <> cardinality(p_plan.columns) else true end) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', format('Every row must be an array of %s values, one for each column.', cardinality(p_plan.columns)),
      'Give rows: [[value, …], …] in the order of columns; null for a null.');
  elsif jsonb_array_length(p_plan.params) > v_cap then
    return countersign_data.refusal_over_cap(p_plan.relation, jsonb_array_length(p_plan.params), v_cap, '[]');
  end if;
  return null;
end
$$;
comment on function countersign_data.check_rows(countersign_data.plan) is 'The refusal that the rows of an insert deserve, or null.';
