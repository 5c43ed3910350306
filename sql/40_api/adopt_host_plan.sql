create or replace function countersign.adopt_host_plan(
  p_token text, p_tool text, p_payload text default null, p_reason text default null, p_caller_id text default null, p_extra jsonb default null)
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
set jit = off
as $$
declare
  v_durable constant boolean := countersign_data.is_durable_call();
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
begin
  v_plan.token := countersign_data.token_of(p_token);
  v_plan.kind := 'host';
  v_plan.tool := p_tool;
  v_plan.login := session_user;
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);
  v_plan.params := '[]';
  v_plan.effects := '{}';
  v_plan.affected_rows := 0;
  v_plan.total_rows := 0;
  v_plan.statement := countersign_data.canonical_json(coalesce(p_payload, 'null'));
  v_plan.shown := jsonb_build_object('kind', 'host', 'adopted', true, 'fingerprint', encode(sha256(convert_to(v_plan.statement, 'UTF8')), 'hex'), 'extra', coalesce(p_extra, 'null'));
  v_plan.gate := '{}';
  v_plan.required_approvals := 1;
  v_call.tool := 'adopt_host_plan';
  v_call.channel := 'host';
  v_refusal := case
    when v_plan.token is null or substr(v_plan.token::text, 15, 1) !~ '[1-8]' then countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The token is no uuid with a version.', 'Derive one from it, always the same.')
    when v_plan.statement is null then countersign_data.refusal_of_payload(p_payload)
    else countersign_data.check_host_plan(v_plan) end;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  perform pg_advisory_xact_lock(hashtextextended(v_plan.token::text, 4319));
  if exists (select from countersign_data.plan q where q.token = v_plan.token) then
    return countersign_data.outcome_ok('It is here already.', jsonb_build_object('plan_token', v_plan.token, 'adopted', false));
  end if;
  -- born with its time over: nothing here gated it, so it can be ended and never be begun again
  v_plan.created_at := clock_timestamp();
  v_plan.expires_at := v_plan.created_at + interval '1 microsecond';
  v_plan.fingerprint := countersign_data.plan_fingerprint(v_plan);
  v_plan.state := 'previewed';
  v_plan := countersign_data.insert_plan(v_plan, null);
  v_call := countersign_data.event_of(v_plan);
  v_plan := countersign_data.move_plan(v_plan, v_call, array['executing']);
  return countersign_data.outcome_ok('Brought in as executing. It can be confirmed or settled, not begun again.',
    jsonb_build_object('plan_token', v_plan.token, 'adopted', true, 'status', v_plan.state, 'attempt', v_plan.state_seq));
end
$$;
comment on function countersign.adopt_host_plan(text, text, text, text, text, jsonb) is
  'Agent: brings in what a host began before it had this database, once a token, as executing. Such a plan can be ended and never be begun again.';
