create or replace function countersign.plan_detail(p_token text)
returns jsonb
language plpgsql
stable
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
  v_plan countersign_data.plan;
  v_tokens constant uuid[] := countersign_data.tokens_beginning(p_token);
begin
  if cardinality(v_tokens) <> 1 then
    return null;
  end if;
  select * into v_plan from countersign_data.plan q where q.token = v_tokens[1];
  return countersign_data.plan_shown(v_plan) || jsonb_build_object(
    'status', countersign_data.state_now(v_plan), 'requested_by', v_plan.login, 'caller_id', v_plan.caller_id, 'reason', v_plan.reason,
    'requested_at', v_plan.created_at, 'decision', countersign_data.recorded_decision(v_plan.token), 'outcome', countersign_data.recorded_outcome(v_plan.token),
    'kind', v_plan.kind, 'columns', to_jsonb(v_plan.columns), 'table_rows', countersign_data.rows_of_table(v_plan.relation),
    'now', clock_timestamp(), 'seen', countersign_data.plan_seen(v_plan),
    'approvals', countersign_data.recorded_approvals(v_plan.token), 'earlier', countersign_data.earlier_plans(v_plan),
    'timeline', (select jsonb_agg(jsonb_build_object('ts', to_char(e.ts, 'YYYY-MM-DD HH24:MI:SS'), 'at', e.ts, 'status', e.status, 'code', e.code, 'tool', e.tool,
                   'by', e.login, 'reported_by', e.reported_by, 'channel', e.channel, 'note', e.note, 'rows', e.actual_rows) order by e.seq)
                 from (select * from countersign_data.event e where e.chain = v_plan.token order by e.seq desc limit 50) e));
end
$$;
comment on function countersign.plan_detail(text) is 'Approver: one plan as JSON, values included; null when there is none. For show, the CLI and the page.';
