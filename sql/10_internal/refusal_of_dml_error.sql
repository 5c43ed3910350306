create or replace function countersign_data.refusal_of_dml_error(p_sqlstate text, p_message text)
returns countersign.outcome
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  -- what the statement itself names was checked before: it is a trigger or a default that lacks a right
  select case p_sqlstate
    when '42501' then countersign_data.outcome_refused('NOT_WRITABLE', p_message || ' (reached by the statement, a trigger or a default)',
      'An administrator must grant that right to countersign_writer, or make the trigger''s function SECURITY DEFINER.', jsonb_build_object('sqlstate', p_sqlstate))
    else countersign_data.refusal_of_error(p_sqlstate, p_message)
  end
$$;
comment on function countersign_data.refusal_of_dml_error(text, text) is 'The refusal for an error of a write that was run.';
