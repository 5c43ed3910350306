create or replace function countersign_data.outcome_refused(p_code text, p_message text, p_hint text, p_detail jsonb default '{}')
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select row(false, p_code, p_message, p_hint, p_detail)::countersign.outcome
$$;
comment on function countersign_data.outcome_refused(text, text, text, jsonb) is 'A refusal: code, what happened, the next thing to do.';
