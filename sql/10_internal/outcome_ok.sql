create or replace function countersign_data.outcome_ok(p_message text, p_detail jsonb default '{}')
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select row(true, null, p_message, null, p_detail)::countersign.outcome
$$;
comment on function countersign_data.outcome_ok(text, jsonb) is 'A success, with what to tell the caller.';
