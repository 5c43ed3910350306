create or replace function countersign.host_plans(p_status text, p_after text default null, p_limit integer default 100, p_older_than_ms bigint default 0)
returns setof jsonb
language plpgsql
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
declare
  v_after countersign_data.plan;
  v_now constant timestamptz := clock_timestamp();
begin
  if p_status is null or p_status not in ('awaiting_approval', 'executing') then
    raise exception 'there is no list of %', coalesce(p_status, 'nothing') using errcode = 'invalid_parameter_value', hint = 'awaiting_approval or executing.';
  end if;
  select * into v_after from countersign_data.plan q where q.token = countersign_data.token_of(p_after) and q.login = session_user;
  return query
  select x.plan
  from (
    select jsonb_build_object('plan_token', q.token, 'status', q.state, 'tool', q.tool, 'payload', q.statement, 'reason', q.reason, 'caller_id', q.caller_id,
             'preview_count', q.shown->'preview_count', 'data_digest', q.data_digest, 'fingerprint', q.shown->'fingerprint', 'extra', q.shown->'extra',
             'gate', to_jsonb(q.gate), 'requested_at', q.created_at, 'expires_at', q.expires_at, 'since', e.ts, 'attempt', q.state_seq) as plan,
           q.created_at, q.token,
           sum(octet_length(q.statement)) over (order by q.created_at, q.token) - octet_length(q.statement) as before
    from (
      select p.* from countersign_data.plan p
      where p.state = p_status and p.state in ('awaiting_approval', 'executing') and p.login = session_user and p.kind = 'host'
        and (p_status = 'executing' or p.expires_at > v_now)
        and (v_after.token is null or (p.created_at, p.token) > (v_after.created_at, v_after.token))
        and (p_older_than_ms <= 0 or (select v.ts from countersign_data.event v where v.chain = p.token and v.seq = p.state_seq) <= v_now - make_interval(secs => least(p_older_than_ms, 3155760000000) / 1000.0))
      order by p.created_at, p.token
      limit least(greatest(p_limit, 1), 1000)) q
    join countersign_data.event e on e.chain = q.token and e.seq = q.state_seq) x
  where x.before < 16 * 1024 * 1024  -- at least one; a page of large payloads is a short one
  order by x.created_at, x.token;
end
$$;
comment on function countersign.host_plans(text, text, integer, bigint) is
  'Agent: one''s own host plans that wait for a human or are executing, oldest first, a page after the token p_after. Leaves no event.';
