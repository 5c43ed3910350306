create or replace function countersign.sweep(p_limit integer default 1000)
returns integer
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
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_now constant timestamptz := clock_timestamp();
  v_swept integer := 0;
begin
  perform countersign_data.refuse_other_isolation();
  for v_plan in
    select q.* from countersign_data.plan q
    where q.login = session_user and q.expires_at <= v_now
      and (q.state in ('previewed', 'awaiting_approval', 'approved') or (q.kind = 'host' and q.state = 'failed'))
    order by q.expires_at
    limit least(greatest(p_limit, 1), 10000)
    for update skip locked  -- whoever holds it will meet the expiry
  loop
    v_refusal := countersign_data.check_state(v_plan);
    if v_refusal.code = 'PLAN_EXPIRED' then
      v_call := countersign_data.event_of(v_plan);
      perform countersign_data.refuse_by_state(v_plan, v_call, v_refusal);
      v_swept := v_swept + 1;
    end if;
  end loop;
  return v_swept;
end
$$;
comment on function countersign.sweep(integer) is 'Agent: moves one''s own plans whose time is over to expired, and says how many. What is executing is left alone.';
