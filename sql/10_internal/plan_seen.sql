create or replace function countersign_data.plan_seen(p_plan countersign_data.plan)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  -- a plan changes in its state only, and each of its states is an event with a hash of its own
  select p_plan.state_seq || '-' || left(encode(p_plan.state_hash, 'hex'), 16)
$$;
comment on function countersign_data.plan_seen(countersign_data.plan) is 'Names the state of a plan that somebody looks at, so that a decision can carry what its human saw.';
