-- Everything that can refuse a write before it is run, in the order in which a caller would want to hear of it.
create or replace function countersign_data.check_request(p_plan countersign_data.plan, p_table text, p_confirm_full_table boolean, out refusal countersign.outcome, out mark text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_condition record;
begin
  if jsonb_typeof(p_plan.params) <> 'array' then
    refusal := countersign_data.outcome_refused('INVALID_ARGUMENTS', 'params must be an array.', 'Give the values for $1, $2, … as a JSON array.');
    return;
  elsif pg_column_size(p_plan.params) > 16 * 1024 * 1024 then  -- as much as execute_plan takes back through a server
    refusal := countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The values are larger than 16 MiB together.', 'Split the work into several smaller calls.');
    return;
  end if;
  refusal := countersign_data.check_target(p_plan.kind, p_table, p_plan.relation, p_plan.columns);
  if refusal.code is not null then
    return;
  end if;

  if p_plan.kind = 'insert' then
    refusal := countersign_data.check_rows(p_plan);
  elsif p_plan.where_sql is null and p_confirm_full_table is not true then
    refusal := countersign_data.outcome_refused('WHERE_REQUIRED', format('Without a condition every row of %s would be %sd.', p_plan.target, p_plan.kind),
      'Give where, or set confirm_full_table: true when every row is meant. The thresholds apply all the same.');
  elsif p_plan.where_sql is not null then
    v_condition := countersign_data.check_condition(p_plan);
    refusal := v_condition.refusal;
    mark := v_condition.mark;
  end if;
end
$$;
comment on function countersign_data.check_request(countersign_data.plan, text, boolean) is 'The refusal a write deserves before it is run, or null.';
