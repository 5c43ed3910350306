create or replace function countersign.create_host_plan(
  p_tool text, p_payload text, p_reason text default null, p_caller_id text default null, p_preview_count bigint default null,
  p_data_digest text default null, p_extra jsonb default null, p_approval_required boolean default false, p_always_require_approval boolean default false,
  p_plan_ttl_ms bigint default null, p_approval_ttl_ms bigint default null)
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
  v_started constant timestamptz := clock_timestamp();
  v_plan countersign_data.plan;
  v_refusal countersign.outcome;
  v_own_limit text;
begin
  v_plan.kind := 'host';
  v_plan.tool := p_tool;
  v_plan.reason := left(p_reason, 2000);
  v_plan.caller_id := left(p_caller_id, 200);
  v_plan.params := '[]';
  v_plan.effects := '{}';
  v_plan.affected_rows := coalesce(p_preview_count, 0);
  v_plan.total_rows := v_plan.affected_rows;
  v_plan.data_digest := p_data_digest;
  v_plan.plan_ttl := make_interval(secs => least(p_plan_ttl_ms, 3155760000000) / 1000.0);
  v_plan.approval_ttl := make_interval(secs => least(p_approval_ttl_ms, 3155760000000) / 1000.0);
  -- an argument can only add a reason to wait; what policy asks for is added to it
  v_plan.gate := array_remove(array[
    case when p_approval_required then 'Its host asks for a human''s approval.' end,
    case when p_always_require_approval then 'Its host says that what this does always waits for a human.' end], null);
  v_own_limit := countersign_data.limit_transaction(0);  -- a payload of millions of members takes its time
  v_plan.statement := countersign_data.canonical_json(p_payload);
  perform countersign_data.set_transaction_limit(v_own_limit);
  v_plan.shown := jsonb_build_object('kind', 'host', 'fingerprint', encode(sha256(convert_to(v_plan.statement, 'UTF8')), 'hex'),
    'preview_count', p_preview_count, 'data_digest', p_data_digest, 'extra', coalesce(p_extra, 'null'));

  v_refusal := case when v_plan.statement is null then countersign_data.refusal_of_payload(p_payload) else countersign_data.check_host_plan(v_plan) end;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(countersign_data.event_of(v_plan), v_refusal);
  end if;
  return countersign_data.store_plan(v_plan, extract(milliseconds from clock_timestamp() - v_started)::integer);
end
$$;
comment on function countersign.create_host_plan(text, text, text, text, bigint, text, jsonb, boolean, boolean, bigint, bigint) is
  'Agent: stores what a host would do outside this database as a plan, and says whether a human must decide. Counts are the host''s; arguments can only tighten the gate.';
