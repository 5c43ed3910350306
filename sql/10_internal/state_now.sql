create or replace function countersign_data.state_now(p_plan countersign_data.plan)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when (p_plan.state in ('previewed', 'awaiting_approval', 'approved') or (p_plan.kind = 'host' and p_plan.state = 'failed')) and clock_timestamp() >= p_plan.expires_at then 'expired' else p_plan.state end;
end
$$;
comment on function countersign_data.state_now(countersign_data.plan) is 'The state, with an expiry that nobody has met yet taken into account.';
