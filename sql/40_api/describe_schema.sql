create or replace function countersign.describe_schema(p_schema text, p_table text, p_reason text, p_caller_id text)
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
  v_relation oid;
  v_name constant text := case when p_schema is not null and strpos(p_table, '.') = 0 then p_schema || '.' || p_table else p_table end;
  v_detail jsonb;
begin
  v_call.tool := 'describe_schema';
  v_call.reason := p_reason;
  v_call.caller_id := p_caller_id;
  v_call.statement := coalesce(v_name, p_schema);
  if p_table is null then
    v_detail := jsonb_build_object('tables', countersign_data.table_list(p_schema));
  else
    v_relation := countersign_data.find_relation(v_name);
    if v_relation is null then
      return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('UNKNOWN_TABLE',
        format('There is no table %s.', left(countersign_data.visible_text(v_name), 200)), 'Call describe_schema without a table for the list.'));
    elsif not countersign_data.relation_is_readable(v_relation, '{}') and countersign_data.write_verbs(v_relation) = '{}' then
      return countersign_data.record_refusal(v_call, countersign_data.outcome_refused('NOT_READABLE',
        format('%s is not readable for agents.', countersign_data.qualified_name(v_relation)), 'Call describe_schema without a table for what is readable; or ask an administrator to run: ' || countersign_data.allow_command('read', v_relation)));
    end if;
    v_detail := countersign_data.table_detail(v_relation);
  end if;
  v_call.status := 'read';
  perform countersign_data.record_event(v_call);
  return countersign_data.outcome_ok(case when p_table is null
    then format('%s tables and views. Call again with table for columns, keys and indexes of one.', jsonb_array_length(v_detail->'tables'))
    else 'Everything agents may see of this table.' end, v_detail);
end
$$;
comment on function countersign.describe_schema(text, text, text, text) is
  'Agent: the tables there are, or one in full. Only what the readers'' group may see is named.';
