-- The text of a WHERE: one expression, never glued to the text around it. Postgres's parser must take it between
-- brackets and between parentheses, each in a statement of its own: no text can close both (D012).
create or replace function countersign_data.check_fragment(p_where text)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_parsed record;
  v_seen record;
begin
  if octet_length(p_where) > 65536 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The condition is longer than 64 KiB.', 'Pass long lists as one array parameter: id = any($1).');
  end if;
  if p_where <> countersign_data.visible_text(p_where) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The condition holds control, bidi or zero-width characters: ' || left(countersign_data.visible_text(p_where), 200),
      'Pass such text as a parameter.');
  end if;

  if countersign_data.tokens_may_differ(p_where) then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'The condition holds an E-string beside a string on another line.', 'Pass such text as a parameter.');
  end if;

  select coalesce(bool_or(t.token = ';'), false) as several, coalesce(bool_or(t.kind = 'comment'), false) as comment, coalesce(bool_or(t.is_dollar), false) as dollar into v_seen
  from (select s.*, (s.token = '$' and lead(s.token) over (order by s.place) !~ '^[0-9]') or (s.kind = 'name' and strpos(s.token, '$') > 0) as is_dollar
        from countersign_data.statement_tokens(p_where) s where s.kind <> 'string') t
  where t.kind <> 'name' or t.is_dollar;
  if v_seen.several then
    return countersign_data.outcome_refused('MULTI_STATEMENT', 'The condition holds more than one statement.', 'Give one condition; preview each write by a call of its own.');
  elsif v_seen.comment then
    -- it speaks to the human who decides, and nothing checks what it says
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'The condition holds a comment.', 'Say why in the reason; leave the condition without comments.');
  elsif v_seen.dollar then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'A dollar sign in a condition may only begin a parameter ($1) or stand within single quotes.', 'Pass text as a parameter.');
  end if;

  v_parsed := countersign_data.statement_tag(E'prepare countersign as select 1 where (' || p_where || E'\n)');
  if v_parsed.tag = 'PREPARE' then
    v_parsed := countersign_data.statement_tag(E'prepare countersign as select (array[' || p_where || E'\n])[1]');
  end if;
  if v_parsed.tag = 'PREPARE' then
    return null;
  end if;
  return countersign_data.outcome_refused('STATEMENT_FAILED', 'The condition is not one SQL expression: ' || coalesce(v_parsed.error, v_parsed.tag),
    'Give what stands after WHERE, as one expression with $1, $2, … for values.');
end
$$;
comment on function countersign_data.check_fragment(text) is 'The refusal a WHERE text deserves before it is resolved, or null: one expression, no comments, no hidden characters.';
