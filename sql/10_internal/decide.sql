create or replace function countersign_data.decide(p_verb text, p_token text, p_note text, p_channel text, p_decided_by text, p_seen text)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_durable constant boolean := countersign_data.is_durable_call();  -- a rejection that a crash forgets would be an approval's chance
  v_found record;
  v_plan countersign_data.plan;
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_approvers name[];
  v_state text;
  v_required integer;
begin
  v_found := countersign_data.plan_for_decision(p_token);
  v_plan := v_found.plan;
  v_refusal := v_found.refusal;
  if v_plan.token is not null then
    v_call := countersign_data.event_of(v_plan);
  end if;
  v_call.tool := p_verb;
  v_call.channel := countersign_data.channel_of(p_channel);
  v_call.caller_id := null;
  v_call.approved_by := session_user;
  v_call.reported_by := left(nullif(btrim(p_decided_by), ''), 200);
  if v_refusal.code is not null then
    if v_refusal.code = 'UNKNOWN_TOKEN' then  -- a plan that is held names who holds it
      v_refusal.hint := countersign_data.hint_for_human(v_refusal.code, v_call.channel, p_token);
    end if;
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  -- policy may ask for more people by now, never for fewer than when the plan was made
  v_required := greatest(v_plan.required_approvals, (select max(countersign_data.policy_number('required_approvals', t)) from countersign_data.tables_touched(v_plan) t));
  v_refusal := countersign_data.check_state(v_plan);
  if v_refusal.code is not null then
    v_refusal.hint := coalesce(countersign_data.hint_for_human(v_refusal.code, v_call.channel, v_plan.token::text), v_refusal.hint);
    return countersign_data.refuse_by_state(v_plan, v_call, v_refusal);
  end if;
  select coalesce(array_agg(distinct e.approved_by::name), '{}') into v_approvers
  from countersign_data.event e where e.chain = v_plan.token and e.status = 'approved';
  v_refusal := case
    when v_plan.login = session_user or countersign_data.is_agent(session_user) then countersign_data.outcome_refused('SELF_APPROVAL',
      format('%s asked for this plan, or is an agent''s login, and cannot decide on it.', session_user), 'Another human must decide, under a role of their own.')
    when p_seen <> countersign_data.plan_seen(v_plan) then countersign_data.outcome_refused('PLAN_MISMATCH',
      format('This plan has moved since you looked at it: it is %s now%s.', replace(v_plan.state, '_', ' '), coalesce(', approved by ' || nullif(array_to_string(v_approvers, ', '), ''), '')),
      'Look at it again, then decide if it still waits.', jsonb_build_object('plan_token', v_plan.token, 'status', v_plan.state, 'approved_by', to_jsonb(v_approvers)))
    when p_verb = 'approve' and v_plan.state = 'previewed' then countersign_data.outcome_refused('INVALID_ARGUMENTS',
      'This plan is within the limits and waits for nobody.', 'Nothing to do; reject it if it must not run.')
    when p_verb = 'approve' and v_plan.state = 'failed' then countersign_data.outcome_refused('INVALID_ARGUMENTS',
      'This plan was begun and failed; its host may begin it again without another approval.', 'Nothing to do; reject it if it must not be tried again.')
    when p_verb = 'approve' and v_plan.state = 'approved' then countersign_data.outcome_refused('INVALID_ARGUMENTS',
      format('This plan is already approved by %s.', array_to_string(v_approvers, ', ')), 'Nothing to do; the agent may execute it.')
    when p_verb = 'approve' and session_user = any(v_approvers) then countersign_data.outcome_refused('INVALID_ARGUMENTS',
      format('You approved this plan already; it needs %s different people.', v_required), 'Another human must approve.')
  end;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  v_call.note := nullif(btrim(p_note), '');
  if p_verb = 'reject' then
    insert into countersign_data.tombstone (plan_token, fingerprint, reason) values (v_plan.token, v_plan.fingerprint, v_call.note);
    v_state := 'rejected';
  else
    v_call.status := 'approved';
    v_state := case when cardinality(v_approvers) + 1 >= v_required then 'approved' else 'awaiting_approval' end;
    -- a decision in the last minute must leave the agent time to act on it
    v_plan.expires_at := greatest(v_plan.expires_at,
      clock_timestamp() + least(v_plan.plan_ttl, countersign_data.policy_value('plan_ttl', coalesce(v_plan.relation, 0))::interval));
  end if;
  v_plan := countersign_data.move_plan(v_plan, v_call, array[v_state]);
  return countersign_data.outcome_ok(
    case v_plan.state
      when 'rejected' then case when v_call.note is null then 'Rejected, without a reason: the agent is left to guess what to do instead.' else 'Rejected. The agent is told the reason.' end
        || ' The same proposal will wait for a human for ever.'
      when 'approved' then 'Approved. The agent may execute exactly what was previewed.'
      else format('Recorded: %s of %s approvals.', cardinality(v_approvers) + 1, v_required) end,
    jsonb_build_object('plan_token', v_plan.token, 'status', v_plan.state, 'decided_by', session_user, 'expires_at', v_plan.expires_at));
end
$$;
comment on function countersign_data.decide(text, text, text, text, text, text) is 'approve and reject: one plan, one human, one event.';
