create or replace function countersign.set_policy(p_key text, p_value text, p_scope text default null)
returns countersign.outcome
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
as $$
declare
  v_key countersign_data.policy_key;
  v_scope text := 'database';
  v_oid oid := 0;
  v_call countersign_data.event;
  v_cap bigint;
  v_line bigint;
  v_approvers text[];
  v_outcome countersign.outcome;
begin
  select * into v_key from countersign_data.policy_key k where k.key = p_key;
  if v_key.key is null then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', format('There is no policy %s.', p_key),
      'Keys: ' || (select string_agg(k.key, ', ' order by k.key) from countersign_data.policy_key k));
  end if;
  if p_scope ~ '^schema:.' then
    v_scope := 'schema';
    v_oid := (select n.oid from pg_namespace n where n.nspname::text = substr(p_scope, 8));
  elsif p_scope ~ '^table:.' then
    v_scope := 'table';
    v_oid := countersign_data.find_relation(substr(p_scope, 7));
  elsif p_scope is not null and p_scope <> 'database' then
    v_oid := null;
  end if;
  if v_oid is null then
    return countersign_data.outcome_refused('UNKNOWN_TABLE', format('There is no %s.', p_scope), 'A scope is schema:NAME or table:NAME; leave it out for the whole database.');
  end if;

  -- null or 'default' takes the row back: the next wider scope applies again
  p_value := nullif(p_value, 'default');
  if p_value is not null then
    begin
      if (v_key.kind = 'integer' and p_value::bigint not between 0 and 1000000000000)
        or (v_key.kind = 'interval' and p_value::interval not between interval '1 millisecond' and interval '100 years') then
        raise exception using errcode = 'invalid_parameter_value';
      end if;
      if v_key.key = 'required_approvals' and p_value::bigint not between 1 and 100 then
        raise exception using errcode = 'invalid_parameter_value';
      end if;
    exception when data_exception then
      return countersign_data.outcome_refused('INVALID_ARGUMENTS', format('%s is no value for %s.', p_value, p_key),
        case when v_key.key = 'required_approvals' then 'Give a whole number from 1 to 100.'
             when v_key.kind = 'integer' then 'Give a whole number from 0 to 1000000000000.'
             else 'Give an interval from 1 millisecond to 100 years, such as 10 minutes.' end);
    end;
  end if;
  begin
    lock table countersign_data.policy_row in share row exclusive mode;
    delete from countersign_data.policy_row r where r.key = p_key and r.scope = v_scope and r.scope_oid = v_oid;
    if p_value is not null then
      insert into countersign_data.policy_row (key, scope, scope_oid, value) values (p_key, v_scope, v_oid, p_value);
    end if;

    -- the cap must never lie below the line at which a human is asked, in whatever scope is in force
    select x.line, x.cap into v_line, v_cap
    from (select countersign_data.policy_number('approval_required_above_rows', o) as line, countersign_data.policy_number('hard_max_rows', o) as cap
          from (select 0::oid as o union select c.oid from pg_class c where c.relkind in ('r', 'p') and v_scope <> 'table' union select v_oid where v_scope = 'table') x) x
    where x.cap < x.line limit 1;
    if found then
      raise exception using errcode = 'check_violation';
    end if;
  exception when check_violation then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS',
      format('hard_max_rows (%s) would lie below approval_required_above_rows (%s).', v_cap, v_line), 'Set the other one first.');
  end;

  v_call.tool := 'policy';
  v_call.status := 'policy';
  v_call.channel := 'admin';
  v_call.statement := format('set_policy %s = %s (%s)', p_key, coalesce(p_value, 'default'), coalesce(p_scope, 'database'));
  perform countersign_data.record_event(v_call);
  v_outcome := countersign_data.outcome_ok(format('%s is %s for %s.', p_key, coalesce(p_value, 'no longer set'), coalesce(p_scope, 'the whole database')));
  if v_key.key = 'required_approvals' then
    v_approvers := array(
      select r.rolname::text from pg_roles r
      where r.rolcanlogin and r.oid in (select countersign_data.members_of('countersign_approver')) and not countersign_data.is_agent(r.rolname)
      order by r.rolname);
    if p_value::bigint > cardinality(v_approvers) then
      v_outcome.hint := format('Only %s login%s can approve on this server%s: plans that need %s wait until there are more. create role NAME login password ''…'' in role countersign_approver;',
        cardinality(v_approvers), case cardinality(v_approvers) when 1 then '' else 's' end, coalesce(' (' || nullif(array_to_string(v_approvers, ', '), '') || ')', ''), p_value);
    end if;
  end if;
  return v_outcome;
end
$$;
comment on function countersign.set_policy(text, text, text) is 'Administrator: sets a policy for the database, schema:NAME or table:NAME; null takes it back. Every change is an event.';
