create or replace function countersign_data.check_rejection(p_plan countersign_data.plan)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rejection countersign_data.tombstone;
begin
  v_rejection := countersign_data.rejection_of_like(p_plan, p_plan.created_at);
  -- an approval that came later is a human's word, too
  if v_rejection.plan_token is not null
    and not exists (select from countersign_data.event e where e.chain = p_plan.token and e.status = 'approved' and e.ts > v_rejection.ts) then
    return countersign_data.outcome_refused('PLAN_REJECTED',
      format('%s rejected the same proposal under another token since%s.', v_rejection.rejected_by, coalesce(': ' || v_rejection.reason, ', without giving a reason')),
      'Do not repeat it. Read the reason; a new preview of it waits for a human.', jsonb_build_object('plan_token', p_plan.token, 'status', p_plan.state));
  end if;
  return null;
end
$$;
comment on function countersign_data.check_rejection(countersign_data.plan) is 'The refusal of a plan whose like a human rejected after it was made or approved, or null.';
