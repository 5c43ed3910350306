create or replace function countersign_data.refuse_by_state(p_plan countersign_data.plan, p_call countersign_data.event, p_refusal countersign.outcome)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- the first to meet an expired plan moves it; a plan is not watched by a clock
  if p_refusal.code = 'PLAN_EXPIRED' and p_plan.state <> 'expired' then
    p_call.code := 'PLAN_EXPIRED';
    p_call.note := p_refusal.message;
    perform countersign_data.move_plan(p_plan, p_call, array['expired']);
    return p_refusal;
  end if;
  return countersign_data.record_refusal(p_call, p_refusal);
end
$$;
comment on function countersign_data.refuse_by_state(countersign_data.plan, countersign_data.event, countersign.outcome) is 'Records a refusal on a plan; an expiry moves the plan.';
