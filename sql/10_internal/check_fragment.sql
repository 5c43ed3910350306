-- The text of a WHERE: one expression, never glued to the text around it. Postgres's parser must take it between
-- brackets and between parentheses, each in a statement of its own: no text can close both (D012).
create or replace function countersign_data.check_fragment(p_where text, p_params jsonb)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_parsed record;
  v_masked text;
begin
  if octet_length(p_where) > 65536 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The condition is longer than 64 KiB.', 'Pass long lists as one array parameter: id = any($1).');
  end if;
  if p_where <> countersign_data.visible_text(p_where) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The condition holds control, bidi or zero-width characters: ' || left(countersign_data.visible_text(p_where), 200),
      'Pass such text as a parameter.');
  end if;
  if p_where ~ '\$(?![0-9])|[[:alnum:]_$]\$' then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'A dollar sign in a condition may only begin a parameter ($1).', 'Pass text with a dollar sign as a parameter.');
  end if;
  -- comments in a condition speak to the human who decides, and nothing checks what they say
  v_masked := case when p_where ~* '(^|[^[:alnum:]_])e''' then p_where
                   else regexp_replace(p_where, '''[^'']*''|"[^"]*"', ' ', 'g') end;
  if v_masked ~ '--|/\*' then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'The condition holds a comment.', 'Say why in the reason; leave the condition without comments.');
  end if;

  v_parsed := countersign_data.statement_tag(E'prepare countersign as select 1 where (' || p_where || E'\n)');
  if v_parsed.tag = 'PREPARE' then
    v_parsed := countersign_data.statement_tag(E'prepare countersign as select (array[' || p_where || E'\n])[1]');
  end if;
  if v_parsed.tag = 'PREPARE' then
    return null;
  end if;
  if v_parsed.tag = 'several' or v_masked ~ ';' then
    return countersign_data.outcome_refused('MULTI_STATEMENT', 'The condition holds more than one statement.', 'Give one condition; preview each write by a call of its own.');
  end if;
  return countersign_data.outcome_refused('STATEMENT_FAILED', 'The condition is not one SQL expression: ' || coalesce(v_parsed.error, v_parsed.tag),
    'Give what stands after WHERE, as one expression with $1, $2, … for values.');
end
$$;
comment on function countersign_data.check_fragment(text, jsonb) is 'The refusal a WHERE text deserves before it is resolved, or null: one expression, no comments, no hidden characters.';
