-- Postgres's own parser is asked, and nothing is run. A cursor cannot be opened on what is not a single query; the
-- refusal names the command, or says that there are several. The wording is compared with the wording of two
-- statements that are known, so that the language of the server's messages does not matter (D011).
-- Parsing and planning already run input functions and constant calls, which may be the agent's own: so it happens as
-- countersign_analyst, who holds no right, READ ONLY, and is always rolled back.
create or replace function countersign_exec.read_tag(p_statement text, out tag text, out error text)
language plpgsql
security definer
set search_path = public, pg_temp  -- replaced by the configured path, see 80_owners.sql (pg_catalog comes first by itself)
set standard_conforming_strings = on
set transform_null_equals = off
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set client_min_messages = error
as $$
declare
  v_cursor refcursor;
  v_several text;
  v_listen text;
  v_prefix text;
  v_suffix text;
  v_message text;
  v_statement text;
  v_opened boolean;
begin
  foreach v_statement in array array['select 1; select 1', 'listen countersign', p_statement] loop
    v_message := null;
    v_opened := false;
    begin
      set local transaction_read_only = on;
      open v_cursor for execute v_statement;
      v_opened := true;
      raise exception using errcode = 'CSRB0';
    exception
      when sqlstate 'CSRB0' then
        if v_opened then tag := 'SELECT'; else error := 'the text raises an error when it is parsed'; end if;
      when invalid_cursor_definition then get stacked diagnostics v_message = message_text;
      when assert_failure or others then get stacked diagnostics error = message_text;
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
  v_prefix := pg_catalog.split_part(v_listen, 'LISTEN', 1);
  v_suffix := pg_catalog.split_part(v_listen, 'LISTEN', 2);
  tag := pg_catalog.substr(v_message, pg_catalog.length(v_prefix) + 1, pg_catalog.length(v_message) - pg_catalog.length(v_prefix) - pg_catalog.length(v_suffix));
end
$$;
comment on function countersign_exec.read_tag(text) is
  'The command tag Postgres''s parser gives to a text without running it: ALTER TABLE, PREPARE, …; SELECT for what a cursor takes, ''several'' for more or less than one statement; or the parser''s error.';
