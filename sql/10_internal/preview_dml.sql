-- Previews an insert, update or delete: check, probe, run and roll back, judge, store. p_plan holds what was asked.
create or replace function countersign_data.preview_dml(p_plan countersign_data.plan, p_table text, p_confirm_full_table boolean)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_sql record;
  v_reached record;
  v_run record;
  v_checked record;
  v_cap bigint;
  v_own_limit text;
  v_answer countersign.outcome;
begin
  p_plan.relation := countersign_data.find_relation(p_table);
  p_plan.target := countersign_data.qualified_name(p_plan.relation);
  p_plan.statement := countersign_data.statement_text(p_plan);
  v_call := countersign_data.event_of(p_plan);

  v_checked := countersign_data.check_request(p_plan, p_table, p_confirm_full_table);
  v_refusal := v_checked.refusal;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  v_cap := countersign_data.policy_number('hard_max_rows', p_plan.relation);
  v_sql := countersign_data.dml_sql(p_plan, v_cap);
  p_plan.run_probe := v_sql.probe;
  p_plan.run_statement := v_sql.statement;
  v_reached := countersign_data.reached_sql(p_plan, v_cap);
  p_plan.run_locks := v_reached.locks;
  p_plan.run_reached := v_reached.reached;
  perform set_config('lock_timeout', countersign_data.preview_lock_timeout(p_plan.relation), true);
  v_own_limit := countersign_data.limit_transaction(p_plan.relation);
  v_run := countersign_exec.run_dml(p_plan.run_probe, p_plan.run_locks, p_plan.run_reached, p_plan.run_statement, countersign_data.bound_params(p_plan), v_cap, null, null);
  perform countersign_data.set_transaction_limit(v_own_limit);
  v_call.duration_ms := extract(milliseconds from clock_timestamp() - v_started)::integer;
  v_call.preview_rows := v_run.affected;

  v_refusal := case
    when v_run.verdict = 'error' then countersign_data.refusal_of_dml_error(v_run.error_state, v_run.error_message)
    when v_run.verdict = 'parameters' then countersign_data.outcome_refused('INVALID_ARGUMENTS', v_run.error_message, 'Give one value for each of $1, $2, …')
    when v_run.verdict = 'over_cap' then countersign_data.refusal_over_cap(p_plan.relation, v_run.affected, v_cap, null)
    when v_run.truncated is not null then countersign_data.outcome_refused('UNSUPPORTED_STATEMENT',
      format('A trigger takes an exclusive lock on %s (TRUNCATE or DDL), whose effect cannot be measured.', v_run.truncated), 'An administrator must make this change.')
    else countersign_data.check_cap(p_plan.relation, v_run.effects)
  end;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;

  p_plan.affected_rows := v_run.affected;
  p_plan.effects := v_run.effects;
  p_plan.total_rows := countersign_data.effects_total(v_run.effects);
  p_plan.digest := v_run.digest;
  p_plan.row_marks := v_run.marks;
  p_plan.shown := countersign_data.dml_shown(p_plan, v_run.sample, v_run.reached);
  if v_checked.mark is not null then
    perform countersign_data.remember_condition(p_plan.relation, p_plan.where_sql, v_checked.mark);
  end if;
  v_answer := countersign_data.store_plan(p_plan, v_call.duration_ms);
  if p_plan.affected_rows = 0 then
    v_answer.message := case when p_plan.kind = 'insert' or exists (select from pg_trigger t where t.tgrelid = p_plan.relation and not t.tgisinternal and t.tgtype::integer & 3 = 3)
      then 'No row would be changed: none matches, or a trigger keeps it from being written. '  -- BEFORE, FOR EACH ROW
      else 'No row matches: executing this changes nothing; check the condition. ' end || v_answer.message;
  end if;
  return v_answer;
end
$$;
comment on function countersign_data.preview_dml(countersign_data.plan, text, boolean) is 'The preview of a write: measured by running it and rolling back, judged by policy, stored as a plan.';
