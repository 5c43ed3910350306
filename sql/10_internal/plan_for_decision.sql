-- Finds and locks the plan a human means: the whole token, or a prefix of eight characters or more that fits one plan.
create or replace function countersign_data.plan_for_decision(p_token text, out plan countersign_data.plan, out refusal countersign.outcome)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens uuid[];
  v_first uuid;
  v_last uuid;
  v_claim record;
begin
  if length(p_token) between 8 and 36 then
    -- filled up it must be a token: what has its hyphens elsewhere begins none
    v_first := countersign_data.token_of(p_token || substr('00000000-0000-0000-0000-000000000000', length(p_token) + 1));
    v_last := countersign_data.token_of(p_token || substr('ffffffff-ffff-ffff-ffff-ffffffffffff', length(p_token) + 1));
    select array_agg(x.token) into v_tokens
    from (select q.token from countersign_data.plan q where q.token between v_first and v_last limit 2) x;
  end if;
  if coalesce(cardinality(v_tokens), 0) <> 1 then
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
