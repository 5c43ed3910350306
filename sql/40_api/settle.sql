create or replace function countersign.settle(p_token text, p_outcome text, p_note text default null, p_channel text default 'psql')
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
  v_found record;
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_context text;
begin
  get diagnostics v_context = pg_context;
  perform countersign_data.refuse_nested_call(v_context, 'settle');
  v_found := countersign_data.plan_for_decision(p_token);
  v_plan := v_found.plan;
  if v_plan.token is not null then
    v_call := countersign_data.event_of(v_plan);
  end if;
  v_call.tool := 'settle';
  v_call.caller_id := null;
  v_call.channel := countersign_data.channel_of(p_channel);
  v_refusal := case
    when v_plan.token is null then v_found.refusal
    when v_plan.login = session_user or countersign_data.is_agent(session_user) then countersign_data.outcome_refused('SELF_APPROVAL',
      format('%s asked for this plan, or is an agent''s login, and cannot settle it.', session_user), 'Another human must, under a role of their own.')
    when coalesce(p_outcome, '') not in ('done', 'not-done') then countersign_data.outcome_refused('INVALID_ARGUMENTS', 'A plan is settled as done or as not-done.',
      'Find out whether it happened, then say done, or not-done so that its host may try again.')
  end;
  if v_refusal.code is not null then
    if v_refusal.code = 'UNKNOWN_TOKEN' then
      v_refusal.hint := case v_call.channel when 'cli' then 'countersign executing' else 'select * from countersign.executing;' end || ' lists what hangs. Give the whole token, or its first eight characters or more.';
    end if;
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;
  v_call.note := concat_ws(': ', format('settled as %s by %s', p_outcome, session_user), nullif(btrim(p_note), ''));
  return countersign_data.end_execution(v_plan, v_call, null, p_outcome = 'done');
end
$$;
comment on function countersign.settle(text, text, text, text) is
  'Approver: says how a host plan that hangs in executing ended: done, or not-done, which lets its host try again until it expires.';
