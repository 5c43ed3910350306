create or replace function countersign_data.check_host_plan(p_plan countersign_data.plan)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap bigint;
begin
  if p_plan.tool is null or p_plan.tool !~ '^[^[:cntrl:]]{1,100}$' or btrim(p_plan.tool) = '' then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'tool must name what the host would do, in 1 to 100 characters.', 'Give the name of the tool, for example send_mail.');
  elsif p_plan.total_rows < 0 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The preview count is negative.', 'Give the number of things that would change, or leave it out.');
  elsif p_plan.plan_ttl <= interval '0' or p_plan.approval_ttl <= interval '0' then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The life of a plan must be longer than nothing.', 'Give a positive number of milliseconds, or leave it out.');
  elsif length(p_plan.data_digest) not between 1 and 1000 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The data digest has no character or more than 1000.', 'Give a hash of the data.');
  elsif jsonb_typeof(p_plan.shown->'extra') not in ('object', 'null') or pg_column_size(p_plan.shown) > 65536 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'extra must be an object of at most 64 KiB.', 'Put large things into the payload.');
  elsif p_plan.total_rows > 0 then
    v_cap := countersign_data.policy_number('hard_max_rows', 0);
    if p_plan.total_rows > v_cap then
      return countersign_data.outcome_refused('HARD_MAX_ROWS_EXCEEDED', format('It would change %s things; %s is the most that is allowed.', p_plan.total_rows, v_cap),
        'Split the work into smaller plans. No human can approve more than the cap; only an administrator can raise hard_max_rows.',
        jsonb_build_object('total_rows', p_plan.total_rows, 'hard_max_rows', v_cap));
    end if;
  end if;
  return null;
end
$$;
comment on function countersign_data.check_host_plan(countersign_data.plan) is 'The refusal a host''s plan deserves before it is stored or begun, or null.';
