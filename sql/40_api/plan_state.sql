create or replace function countersign.plan_state(p_token text)
returns text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select countersign_data.state_now(q) from countersign_data.plan q where q.token = countersign_data.token_of(p_token) and q.login = session_user
$$;
comment on function countersign.plan_state(text) is 'Agent: the state of one''s own plan, for a server that waits for a decision. Leaves no event, so that waiting does not fill the trail.';
