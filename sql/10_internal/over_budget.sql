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
          and q.state in ('executing', 'executed', 'undone') and q.created_at > v_now - interval '1 hour'
        union all
        select q.total_rows from countersign_data.plan q
        where q.login = session_user and q.gate = '{}' and q.total_rows > 0 and q.expires_at > v_now
          and (q.state = 'previewed' or (q.kind = 'host' and q.state = 'failed'))) x;
  if v_spent + p_plan.total_rows > v_budget then
    return format('%s already changed or may change %s rows without a human within the hour; with these it would pass %s.', session_user, v_spent, v_budget);
  end if;
  return null;
end
$$;
comment on function countersign_data.over_budget(countersign_data.plan) is 'Why an ungated plan would pass its login''s hourly budget, or null.';
