-- Finds and locks the plan a human means: the whole token, or a prefix of eight characters or more that fits one plan.
create or replace function countersign_data.plan_for_decision(p_token text, out plan countersign_data.plan, out refusal countersign.outcome)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens constant uuid[] := countersign_data.tokens_beginning(p_token);
begin
  if cardinality(v_tokens) <> 1 then
    refusal := countersign_data.outcome_refused('UNKNOWN_TOKEN',
      case when cardinality(v_tokens) = 2 then 'Several plans begin with that.' else 'There is no such plan in this database.' end,
      'select * from countersign.pending; lists what waits. Give the whole token, or its first eight characters or more.');
    return;
  end if;
  -- nearly always nobody else is at it; only a wait needs a limit, and a subtransaction to tell of it
  select * into plan from countersign_data.plan q where q.token = v_tokens[1] for update skip locked;
  if found then
    return;
  end if;
  begin
    perform set_config('lock_timeout', countersign_data.policy_milliseconds('lock_timeout', 0) || 'ms', true);
    select * into plan from countersign_data.plan q where q.token = v_tokens[1] for update;
  exception when lock_not_available then
    refusal := countersign_data.outcome_refused('ALREADY_EXECUTING', 'The plan is being executed or decided at this moment.', 'Try again in a moment.');
  end;
end
$$;
comment on function countersign_data.plan_for_decision(text) is 'The plan a human names, locked; or the refusal.';
