-- The gate: why a human must decide. Nothing an agent passes is read here but what was measured.
create or replace function countersign_data.gate_reasons(p_plan countersign_data.plan)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reasons text[] := '{}';
  v_row record;
  v_rejection countersign_data.tombstone;
  v_spent bigint;
  v_budget bigint;
begin
  if p_plan.kind = 'migration' then
    v_reasons := v_reasons || 'Migrations always wait for a human.'::text;
  end if;

  v_reasons := array_remove(v_reasons || countersign_data.line_passed(p_plan), null);

  for v_row in
    select e.value->>'table' as name from jsonb_array_elements(p_plan.shown->'effects') e where not (e.value->>'writable')::boolean
  loop
    v_reasons := v_reasons || format('It reaches %s by a cascade or a trigger, outside the write allowlist.', v_row.name);
  end loop;

  if p_plan.kind = 'update' then
    for v_row in
      select string_agg(c, ', ' order by c) as names from unnest(p_plan.columns) c where not has_column_privilege('countersign_reader', p_plan.relation, c, 'SELECT')
      having count(*) > 0
    loop
      v_reasons := v_reasons || format('It overwrites what agents may not read: %s.', v_row.names);
    end loop;
  end if;

  v_rejection := countersign_data.rejection_of_like(p_plan, '-infinity');
  if v_rejection.plan_token is not null then
    v_reasons := v_reasons || format('%s rejected the same statement on %s%s.', v_rejection.rejected_by, to_char(v_rejection.ts at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), coalesce(': ' || rtrim(left(v_rejection.reason, 200), '.'), ''));
  end if;

  -- many small plans are one large one; the lock makes concurrent previews of a login be judged one after the other
  if v_reasons = '{}' then
    perform from countersign_data.requester r where r.login = session_user for update;
    if not found then
      insert into countersign_data.requester (login) values (session_user) on conflict do nothing;
      perform from countersign_data.requester r where r.login = session_user for update;
    end if;
    v_budget := countersign_data.policy_number('ungated_rows_per_hour', p_plan.relation);
    select coalesce(sum(q.total_rows), 0) into v_spent
    from countersign_data.plan q
    where q.login = session_user and q.gate = '{}' and q.total_rows > 0
      and ((q.state in ('executing', 'executed', 'undone') and q.created_at > clock_timestamp() - interval '1 hour' - countersign_data.policy_value('plan_ttl', coalesce(p_plan.relation, 0))::interval)
        or (q.state = 'previewed' and q.expires_at > clock_timestamp()));
    -- a plan whose time is over, but whose row is held, may be executed in a transaction that has not ended
    with overdue as (
      select q.token, q.total_rows from countersign_data.plan q
      where q.login = session_user and q.gate = '{}' and q.total_rows > 0 and q.state = 'previewed'
        and q.expires_at <= clock_timestamp() and q.created_at > clock_timestamp() - interval '2 hours'),
    free as (select q.total_rows from countersign_data.plan q where q.token in (select token from overdue) for update skip locked)
    select v_spent + coalesce((select sum(total_rows) from overdue), 0) - coalesce((select sum(total_rows) from free), 0) into v_spent;
    if v_spent + p_plan.total_rows > v_budget then
      v_reasons := v_reasons || format('%s already changed or may change %s rows without a human within the hour; with these it would pass %s.', session_user, v_spent, v_budget);
    end if;
  end if;
  return v_reasons;
end
$$;
comment on function countersign_data.gate_reasons(countersign_data.plan) is 'Why this plan waits for a human, in sentences; empty when it may run at once.';
