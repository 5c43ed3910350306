-- Many small plans are one large one. The lock makes concurrent previews of a login be judged one after the other.
create or replace function countersign_data.over_budget(p_plan countersign_data.plan)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_budget constant bigint := countersign_data.policy_number('ungated_rows_per_hour', p_plan.relation);
  v_now timestamptz;
  v_spent bigint;
begin
  perform from countersign_data.requester r where r.login = session_user for update;
  if not found then
    insert into countersign_data.requester (login) values (session_user) on conflict do nothing;
    perform from countersign_data.requester r where r.login = session_user for update;
  end if;
  v_now := clock_timestamp();
  -- what was changed within the hour, and what may still be: each by an index, since old plans stay
  select coalesce(sum(x.total_rows), 0) into v_spent
  from (select q.total_rows from countersign_data.plan q
        where q.login = session_user and q.gate = '{}' and q.total_rows > 0
          -- by when it was made, which is up to a plan's life before it was run
          and q.state in ('executing', 'executed', 'undone') and q.created_at > v_now - interval '1 hour' - countersign_data.policy_value('plan_ttl', coalesce(p_plan.relation, 0))::interval
        union all
        select q.total_rows from countersign_data.plan q
        where q.login = session_user and q.gate = '{}' and q.total_rows > 0 and q.expires_at > v_now
          and (q.state = 'previewed' or (q.kind = 'host' and q.state = 'failed'))) x;
  -- a plan whose time is over, but whose row is held, may be executed in a transaction that has not ended
  with overdue as (
    select q.token, q.total_rows from countersign_data.plan q
    where q.login = session_user and q.gate = '{}' and q.total_rows > 0 and (q.state = 'previewed' or (q.kind = 'host' and q.state = 'failed'))
      and q.expires_at <= v_now and q.created_at > v_now - interval '2 hours'),
  free as (select q.total_rows from countersign_data.plan q where q.token in (select token from overdue) for update skip locked)
  select v_spent + coalesce((select sum(total_rows) from overdue), 0) - coalesce((select sum(total_rows) from free), 0) into v_spent;
  if v_spent + p_plan.total_rows > v_budget then
    return format('%s already changed or may change %s rows without a human within the hour; with these it would pass %s.', session_user, v_spent, v_budget);
  end if;
  return null;
end
$$;
comment on function countersign_data.over_budget(countersign_data.plan) is 'Why an ungated plan would pass its login''s hourly budget, or null.';
