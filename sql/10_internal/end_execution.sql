-- done or not done: the end of what a host began. p_attempt, where it is known, is the beginning that ends: a process that
-- was given up as dead must not end what another has begun since.
create or replace function countersign_data.end_execution(
  p_plan countersign_data.plan, p_call countersign_data.event, p_attempt integer, p_done boolean)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_plan.state <> 'executing' or p_plan.state_seq <> p_attempt then
    p_call.note := null;
    return countersign_data.record_refusal(p_call, countersign_data.outcome_refused('NOT_EXECUTING',
      case when p_plan.state = 'executing' then 'This attempt is over: the plan has been begun again since.'
           else format('This plan is not being executed: it is %s.', countersign_data.state_now(p_plan)) end,
      case when p_call.channel = 'host' then 'Nothing was recorded. Call plan_status for what became of it.'
           else countersign_data.hint_for_human('NOT_EXECUTING', p_call.channel, p_plan.token::text) end,
      jsonb_build_object('plan_token', p_plan.token, 'status', countersign_data.state_now(p_plan), 'outcome', countersign_data.recorded_outcome(p_plan.token))));
  end if;
  if not p_done then
    p_call.code := 'STATEMENT_FAILED';
    p_call.note := coalesce(p_call.note, 'It was not done.');
  end if;
  p_call.duration_ms := (select least(extract(epoch from clock_timestamp() - e.ts) * 1000, 2147483647)::integer from countersign_data.event e where e.chain = p_plan.token and e.seq = p_plan.state_seq);
  p_plan := countersign_data.move_plan(p_plan, p_call, array[case when p_done then 'executed' else 'failed' end]);
  return countersign_data.outcome_ok(
    case when p_done then 'Recorded as done.' else 'Recorded as not done; it may be begun again until it expires.' end,
    jsonb_build_object('plan_token', p_plan.token, 'status', p_plan.state, 'expires_at', p_plan.expires_at));
end
$$;
comment on function countersign_data.end_execution(countersign_data.plan, countersign_data.event, integer, boolean) is 'Ends an execution as done or not done, or refuses with NOT_EXECUTING.';
