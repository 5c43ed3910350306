-- Column by column and not as a whole row: that would fetch every stored row mark of a large plan.
create or replace function countersign_data.plans_listed(p_tokens uuid[])
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'plan_token', q.token, 'kind', q.kind, 'tool', q.tool, 'target', q.target, 'columns', to_jsonb(q.columns),
        'status', case when q.state in ('previewed', 'awaiting_approval', 'approved') and clock_timestamp() >= q.expires_at then 'expired' else q.state end,
        'affected_rows', q.affected_rows, 'total_rows', q.total_rows, 'whole_table', q.shown->'whole_table', 'tag', q.shown->'migration'->>'tag',
        'outside', (select coalesce(bool_or(not (e.value->>'writable')::boolean), false) from jsonb_array_elements(q.shown->'effects') e),
        'statement', left(q.statement, 300), 'reason', left(q.reason, 300), 'requested_by', q.login, 'caller_id', q.caller_id,
        'requested_at', q.created_at, 'expires_at', q.expires_at, 'required', q.required_approvals,
        'approved', (select count(*) from countersign_data.event e where e.chain = q.token and e.status = 'approved'),
        'decision', countersign_data.recorded_decision(q.token)) order by t.place), '[]')
    from unnest(p_tokens) with ordinality t(token, place)
    join countersign_data.plan q on q.token = t.token);
end
$$;
comment on function countersign_data.plans_listed(uuid[]) is 'Plans as a list shows them, in the order given; raw text, for a reader that makes it safe itself.';
