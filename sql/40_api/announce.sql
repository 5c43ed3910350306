create or replace function countersign.announce(p_token text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
set jit = off
as $$
declare
  v_plan countersign_data.plan;
begin
  select * into v_plan from countersign_data.plan q where q.token = countersign_data.token_of(p_token)
    and (q.login = session_user or pg_has_role(session_user, 'countersign_approver', 'member'));
  if v_plan.token is not null and pg_notification_queue_usage() < 0.9 then
    execute format('notify countersign, %L', countersign_data.notice_of(v_plan.token, v_plan.state));
  end if;
end
$$;
comment on function countersign.announce(text) is 'Agent, approver: wakes those who watch a plan, in a transaction of its own after an execution or a decision committed.';
