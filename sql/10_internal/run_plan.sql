-- Runs an approved or ungated plan. All that can go wrong comes back as a verdict; what went right is still uncommitted.
create or replace function countersign_data.run_plan(
  p_plan countersign_data.plan, out refusal countersign.outcome, out affected bigint, out may_retry boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run record;
  v_own_limit text;
begin
  perform set_config('lock_timeout', countersign_data.policy_milliseconds('lock_timeout', coalesce(p_plan.relation, 0)) || 'ms', true);
  may_retry := false;
  if p_plan.kind = 'migration' then
    refusal := countersign_data.check_rows_lost(p_plan);
    if refusal.code is not null then
      return;
    end if;
    v_run := countersign_data.measure_migration(p_plan.statement, p_plan.effects);
    affected := 0;
  elsif countersign_data.qualified_name(p_plan.relation) is distinct from p_plan.target then
    refusal := countersign_data.outcome_refused('EFFECTS_CHANGED', format('%s was renamed or dropped since the preview. Nothing was changed.', p_plan.target), 'Preview again.');
    return;
  else
    -- the cap may have been lowered since the preview
    refusal := countersign_data.check_cap(p_plan.relation, p_plan.effects);
    -- and so may the line at which a human is asked
    if refusal.code is null and p_plan.gate = '{}' and countersign_data.line_passed(p_plan) is not null then
      refusal := countersign_data.outcome_refused('AWAITING_APPROVAL', 'The policy changed since the preview. ' || countersign_data.line_passed(p_plan), 'Preview again: that plan waits for a human.');
    end if;
    -- (when it is the target itself that may no longer be written, Postgres says so)
    if refusal.code is null and p_plan.gate = '{}' and has_any_column_privilege('countersign_writer', p_plan.relation, 'INSERT, UPDATE') and exists (select from jsonb_array_elements(countersign_data.effects_shown(p_plan.effects)) e where not (e.value->>'writable')::boolean) then
      refusal := countersign_data.outcome_refused('AWAITING_APPROVAL', 'The write allowlist changed since the preview: this reaches a table outside it now.', 'Preview again: that plan waits for a human.');
    end if;
    if refusal.code is not null then
      may_retry := true;
      return;
    end if;
    v_own_limit := countersign_data.limit_transaction(p_plan.relation);
    v_run := countersign_exec.run_dml(p_plan.run_probe, p_plan.run_locks, p_plan.run_reached, p_plan.run_statement, countersign_data.bound_params(p_plan),
                                      countersign_data.policy_number('hard_max_rows', p_plan.relation), p_plan.digest, p_plan.effects);
    perform countersign_data.set_transaction_limit(v_own_limit);
    affected := v_run.affected;
  end if;

  if v_run.verdict = 'error' then
    refusal := case p_plan.kind when 'migration' then countersign_data.refusal_of_ddl_error(v_run.error_state, v_run.error_message)
                                else countersign_data.refusal_of_dml_error(v_run.error_state, v_run.error_message) end;
    -- locks, timeouts, resources, shutdown: nothing wrong with the plan, so it keeps its state
    may_retry := left(v_run.error_state, 2) in ('40', '53', '55', '57', '58');
  elsif v_run.verdict = 'over_cap' then
    refusal := countersign_data.refusal_over_cap(p_plan.relation, v_run.affected, countersign_data.policy_number('hard_max_rows', p_plan.relation), null);
    may_retry := true;
  elsif v_run.verdict = 'rowset_changed' then
    refusal := countersign_data.outcome_refused('ROWSET_CHANGED', 'The rows are not those that were previewed. Nothing was changed.',
      'Preview again; changed names the rows.', jsonb_build_object('changed', countersign_data.rows_that_differ(p_plan.row_marks, v_run.marks)));
  elsif v_run.verdict <> 'done' then
    -- not one expression with the figures below: a migration's record has no such field, and naming it raises
    refusal := countersign_data.outcome_refused('EFFECTS_CHANGED', 'The statement would now do something else than was previewed, to these or to other rows that it reaches. Nothing was changed.', 'Preview again.');
    if p_plan.kind <> 'migration' then
      refusal.detail := jsonb_build_object('previewed', p_plan.shown->'effects', 'found', countersign_data.effects_shown(v_run.effects),
        'changed', countersign_data.rows_that_differ(p_plan.row_marks, v_run.marks));
    end if;
  end if;
end
$$;
comment on function countersign_data.run_plan(countersign_data.plan) is 'Runs what a plan stores and compares with what was previewed; answers a refusal, or null with the rows affected.';
