-- What a plan's state says to somebody who wants to execute or decide: the first that applies wins (DESIGN §4).
create or replace function countersign_data.check_state(p_plan countersign_data.plan)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome jsonb;
  v_decision jsonb;
  v_detail constant jsonb := jsonb_build_object('plan_token', p_plan.token, 'status', p_plan.state);
begin
  if (p_plan.state in ('previewed', 'awaiting_approval', 'approved') or (p_plan.kind = 'host' and p_plan.state = 'failed')) and clock_timestamp() < p_plan.expires_at then
    return null;
  end if;
  v_outcome := countersign_data.recorded_outcome(p_plan.token);
  v_decision := countersign_data.recorded_decision(p_plan.token);
  return case
    when p_plan.state = 'rejected' then countersign_data.outcome_refused('PLAN_REJECTED',
      format('%s rejected this plan%s.', v_decision->>'by', coalesce(': ' || (v_decision->>'note'), ' without giving a reason')),
      case when v_decision->>'note' is null then 'Do not repeat it. Ask the human what they want instead.' else 'Do not repeat it. Read the reason, change the statement accordingly and preview that.' end, v_detail || jsonb_build_object('decision', v_decision))
    when p_plan.state in ('executed', 'undone') then countersign_data.outcome_refused('PLAN_USED',
      format('This plan was executed at %s.', v_outcome->>'at'),
      'Nothing more to do; outcome tells what it did. For another change preview again.', v_detail || jsonb_build_object('outcome', v_outcome))
    when p_plan.state = 'executing' then countersign_data.outcome_refused('ALREADY_EXECUTING',
      'This plan is being executed.', case p_plan.kind when 'host' then 'Whoever began it confirms how it ended; if that process is gone, reconcile it or let an approver settle it.' else 'Wait, then call plan_status.' end, v_detail)
    when p_plan.state = 'stale' then countersign_data.outcome_refused(v_outcome->>'code',
      'An earlier execution found that the data had changed since the preview, and did nothing.', 'Preview again.', v_detail || jsonb_build_object('outcome', v_outcome))
    when p_plan.state = 'failed' and p_plan.kind <> 'host' then countersign_data.outcome_refused('STATEMENT_FAILED',
      format('An earlier execution failed and changed nothing: %s', v_outcome->>'message'), 'Change the statement and preview again.', v_detail || jsonb_build_object('outcome', v_outcome))
    else countersign_data.outcome_refused('PLAN_EXPIRED',
      format('This plan expired at %s.', to_char(p_plan.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')), 'Preview again.', v_detail || '{"status": "expired"}')
  end;
end
$$;
comment on function countersign_data.check_state(countersign_data.plan) is 'The refusal a plan''s state deserves, or null when it is previewed, waiting, approved or a host''s to retry, and has not expired.';
