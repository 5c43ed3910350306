-- Finds and locks the plan a human means: the whole token, or a prefix of eight characters or more that fits one plan.
create or replace function countersign_data.plan_for_decision(p_token text, out plan countersign_data.plan, out refusal countersign.outcome)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens constant uuid[] := countersign_data.tokens_beginning(p_token);
  v_claim record;
begin
  if cardinality(v_tokens) <> 1 then
    refusal := countersign_data.outcome_refused('UNKNOWN_TOKEN',
      case when cardinality(v_tokens) = 2 then 'Several plans begin with that.' else 'There is no such plan in this database.' end,
      'select * from countersign.pending; lists what waits. Give the whole token, or its first eight characters or more.');
    return;
  end if;
  v_claim := countersign_data.claim_plan(v_tokens[1]);
  plan := v_claim.plan;
  if v_claim.is_held then
    refusal := countersign_data.refusal_plan_is_held(v_tokens[1], 'Try again in a moment.');
  end if;
end
$$;
comment on function countersign_data.plan_for_decision(text) is 'The plan a human names, locked; or the refusal.';
