create or replace function countersign.preview_migration(p_statement text, p_reason text, p_caller_id text)
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
  v_started constant timestamptz := clock_timestamp();
  v_plan countersign_data.plan;
  v_refusal countersign.outcome;
  v_run record;
begin
  perform countersign_data.refuse_other_isolation();
  perform countersign_data.refuse_planted_objects();
  v_plan.kind := 'migration';
  v_plan.tool := 'run_migration';
  v_plan.statement := coalesce(p_statement, '');
  v_plan.params := '[]';
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);

  v_refusal := countersign_data.check_migration(v_plan.statement);
  if v_refusal.code is null then
    perform set_config('lock_timeout', countersign_data.preview_lock_timeout(0), true);
    v_run := countersign_data.measure_migration(v_plan.statement, null);
    v_refusal := case when v_run.verdict = 'error' then countersign_data.refusal_of_ddl_error(v_run.error_state, v_run.error_message)
                      else countersign_data.judge_migration(v_run.measured) end;
  end if;
  if v_refusal.code is null then
    v_refusal := countersign_data.check_cap(0, v_run.measured->'effects');
  end if;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(countersign_data.event_of(v_plan), v_refusal);
  end if;

  v_plan.effects := v_run.measured;
  v_plan.affected_rows := 0;
  v_plan.total_rows := countersign_data.effects_total(v_run.measured->'effects');
  v_plan.shown := countersign_data.migration_shown(v_plan.statement, v_run.measured);
  return countersign_data.store_plan(v_plan, extract(milliseconds from clock_timestamp() - v_started)::integer);
end
$$;
comment on function countersign.preview_migration(text, text, text) is
  'Agent: previews one DDL statement. Runs it, reads from the catalogs what it did, rolls it back; always waits for a human.';
