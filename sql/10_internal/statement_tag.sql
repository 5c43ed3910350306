-- Postgres's own parser is asked, and nothing is run. A cursor cannot be opened on what is not a single query; the
-- refusal names the command, or says that there are several. The wording is compared with the wording of two
-- statements that are known, so that the language of the server's messages does not matter (D011).
create or replace function countersign_data.statement_tag(p_statement text, out tag text, out error text)
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_cursor refcursor;
  v_several text;
  v_listen text;
  v_prefix text;
  v_suffix text;
  v_message text;
  v_statement text;
begin
  foreach v_statement in array array['select 1; select 1', 'listen countersign', p_statement] loop
    v_message := null;
    begin
      open v_cursor for execute v_statement;
      close v_cursor;
      tag := 'SELECT';
    exception
      when invalid_cursor_definition then get stacked diagnostics v_message = message_text;
      when others then get stacked diagnostics error = message_text;
    end;
    v_several := coalesce(v_several, v_message);
    v_listen := case when v_statement = 'listen countersign' then v_message else v_listen end;
  end loop;

  if v_message is null then
    return;
  end if;
  if v_message = v_several then
    tag := 'several';
    return;
  end if;
  v_prefix := split_part(v_listen, 'LISTEN', 1);
  v_suffix := split_part(v_listen, 'LISTEN', 2);
  tag := substr(v_message, length(v_prefix) + 1, length(v_message) - length(v_prefix) - length(v_suffix));
end
$$;
comment on function countersign_data.statement_tag(text) is
  'The command tag Postgres''s parser gives to a text without running it: ALTER TABLE, PREPARE, …; SELECT for what a cursor takes, ''several'' for more or less than one statement; or the parser''s error.';
