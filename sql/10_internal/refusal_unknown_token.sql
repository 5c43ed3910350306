create or replace function countersign_data.refusal_unknown_token()
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  -- one answer for a malformed, a foreign and an unknown token: nothing to learn by guessing
  select countersign_data.outcome_refused('UNKNOWN_TOKEN', 'There is no such plan in this database for this login.',
    'Use the plan_token exactly as the preview answered it, on the same database; or preview again.')
$$;
comment on function countersign_data.refusal_unknown_token() is 'The refusal for a token that is not one, or is another login''s or another database''s.';
