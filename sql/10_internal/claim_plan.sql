-- The row lock is the claim: whoever comes second reads what the first one made of the plan. Taken outside a subtransaction
-- where it is free, so that it bears the transaction's own id, by which refusal_plan_is_held finds who holds it.
create or replace function countersign_data.claim_plan(p_token uuid, out plan countersign_data.plan, out is_held boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  is_held := false;
  select * into plan from countersign_data.plan q where q.token = p_token for update skip locked;
  if not found then
    perform set_config('lock_timeout', countersign_data.policy_milliseconds('lock_timeout', 0) || 'ms', true);
    begin
      select * into plan from countersign_data.plan q where q.token = p_token for update;
    exception when lock_not_available then
      is_held := true;
    end;
  end if;
end
$$;
comment on function countersign_data.claim_plan(uuid) is 'Locks a plan and reads it; plan is null when there is none, or is_held when another transaction keeps it for longer than lock_timeout.';
