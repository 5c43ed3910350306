create or replace function countersign.verify_chain()
returns table (chain uuid, seq integer, problem text)
language sql
stable
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
  select e.chain, e.seq, p.problem
  from (select ev as row, ev.*, lag(ev.hash) over (partition by ev.chain order by ev.seq) as hash_before, lag(ev.seq) over (partition by ev.chain order by ev.seq) as seq_before
        from countersign_data.event ev) e
  cross join lateral (values
    (case when e.hash <> countersign_data.event_digest(e.row) then 'the row was altered: its hash does not fit' end),
    (case when e.seq <> coalesce(e.seq_before, 0) + 1 then 'an event before this one is missing' end),
    (case when e.seq_before is not null and e.prev_hash is distinct from e.hash_before then 'the previous event was replaced' end)) as p(problem)
  where p.problem is not null
  union all
  select q.token, q.state_seq, 'the plan''s state is not its last event'
  from countersign_data.plan q
  where not exists (select from countersign_data.event e where e.chain = q.token and e.seq = q.state_seq and e.to_state = q.state and e.hash = q.state_hash)
     or exists (select from countersign_data.event e where e.chain = q.token and e.seq > q.state_seq and e.to_state <> q.state)
$$;
comment on function countersign.verify_chain() is 'Auditor: recomputes every hash. No row means that no event was altered, replaced or taken out of the middle of a chain.';
