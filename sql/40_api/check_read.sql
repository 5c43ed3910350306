create or replace function countersign.check_read(p_tool text, p_statement text, p_params jsonb, p_reason text, p_caller_id text)
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
  v_call countersign_data.event;
  v_refusal countersign.outcome;
  v_parsed record;
  v_error text;
begin
  perform countersign_data.refuse_planted_objects();
  v_call.tool := p_tool;
  v_call.reason := p_reason;
  v_call.statement := p_statement;
  v_call.params_redacted := countersign_data.param_shape(p_params);
  v_call.caller_id := p_caller_id;
  -- before anything reads the text: ten megabytes, or as many parentheses, are not parsed to be refused
  if octet_length(p_statement) > 65536 then
    return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The statement is longer than 64 KiB.', 'Pass long lists as one array parameter.'));
  end if;
  p_statement := regexp_replace(coalesce(p_statement, ''), '[;[:space:]]+$', '');

  -- parsed as the subject of PREPARE, which takes a query with parameters and runs nothing
  v_parsed := countersign_data.statement_tag('prepare countersign as ' || p_statement);
  if v_parsed.tag is null then  -- no query; what it is only words the refusal
    v_error := v_parsed.error;
    v_parsed := countersign_data.statement_tag(p_statement);
  end if;
  v_refusal := case
    when v_parsed.tag = 'PREPARE' and v_error is null then null
    when v_parsed.tag = 'several' then countersign_data.outcome_refused('MULTI_STATEMENT', 'The text holds more than one statement, or none.', 'Send one SELECT.')
    when v_parsed.error is null then countersign_data.outcome_refused('NOT_A_SELECT', 'This tool reads: it takes one SELECT.', 'To change rows use insert_rows, update_rows or delete_rows; to change tables run_migration.')
    else countersign_data.outcome_refused('STATEMENT_FAILED', coalesce(v_error, 'The statement does not parse.'), 'Correct the statement.')
  end;
  if v_refusal.code is null then
    v_refusal := countersign_data.judge_resolved(countersign_exec.resolve(
      '(' || p_statement || E'\n) as countersign_query') || jsonb_build_object('text', p_statement), false);
    if v_refusal.detail->>'sqlstate' in ('42601', '0A000') then
      v_refusal := countersign_data.outcome_refused('NOT_A_SELECT', v_refusal.message, 'Send one SELECT without INTO and without a write in WITH.');
    end if;
  end if;
  if v_refusal.code is not null then
    return countersign_data.record_refusal(v_call, v_refusal);
  end if;
  return countersign_data.outcome_ok('readable');
end
$$;
comment on function countersign.check_read(text, text, jsonb, text, text) is
  'Agent: whether a read calls and reads only what agents may, as Postgres resolves it. The boundary is the reader''s grants; this makes the refusal clear and early.';
