create or replace function countersign_data.plan_shown(p_plan countersign_data.plan)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
as $$
begin
  return jsonb_build_object(
      'plan_token', p_plan.token, 'status', p_plan.state, 'tool', p_plan.tool, 'statement', p_plan.statement, 'params', p_plan.params,
      'target', p_plan.target, 'affected_rows', p_plan.affected_rows, 'total_rows', p_plan.total_rows,
      'gate', to_jsonb(p_plan.gate), 'expires_at', p_plan.expires_at,
      'approval', case when p_plan.gate = '{}' then null else jsonb_build_object(
        'required', p_plan.required_approvals,
        'psql', format('select * from countersign.approve(%L, %L);', left(p_plan.token::text, 8), 'your note'),
        'cli', format('countersign approve %s', left(p_plan.token::text, 8))) end)
      || p_plan.shown;
end
$$;
comment on function countersign_data.plan_shown(countersign_data.plan) is 'What an agent is shown of a plan.';
