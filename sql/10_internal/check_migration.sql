create or replace function countersign_data.check_migration(p_statement text)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_parsed record;
  v_odd text;
  v_function text;
  v_hidden record;
begin
  if octet_length(p_statement) > 65536 or p_statement <> countersign_data.visible_text(p_statement) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The statement is longer than 64 KiB or holds control, bidi or zero-width characters.', 'Send plain SQL, one statement.');
  end if;

  if countersign_data.tokens_may_differ(p_statement) then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'The statement holds an E-string beside a string on another line.', 'Write plain strings, each on one line.');
  end if;

  v_parsed := countersign_data.statement_tag('prepare countersign as ' || p_statement);
  if v_parsed.tag is null and countersign_data.begins_with_word(p_statement) then
    v_parsed := countersign_data.statement_tag(p_statement);
  elsif v_parsed.tag is null then
    v_parsed.tag := 'several';
  end if;
  if v_parsed.tag = 'several' then
    return countersign_data.outcome_refused('MULTI_STATEMENT', 'run_migration takes exactly one statement.', 'Send one statement; preview each migration by a call of its own.');
  elsif v_parsed.error is not null then
    return countersign_data.outcome_refused('STATEMENT_FAILED', v_parsed.error, 'Correct the statement.');
  elsif v_parsed.tag not in (
      'CREATE TABLE', 'ALTER TABLE', 'DROP TABLE', 'CREATE INDEX', 'ALTER INDEX', 'DROP INDEX', 'CREATE VIEW', 'ALTER VIEW', 'DROP VIEW',
      'CREATE SEQUENCE', 'ALTER SEQUENCE', 'DROP SEQUENCE', 'CREATE TYPE', 'ALTER TYPE', 'DROP TYPE', 'CREATE STATISTICS', 'DROP STATISTICS', 'COMMENT') then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', format('run_migration does not run %s.', case v_parsed.tag when 'PREPARE' then 'queries or changes of rows' else v_parsed.tag end),
      'It takes CREATE, ALTER and DROP of tables, indexes, views, sequences and types, and COMMENT. Rows are changed by insert_rows, update_rows and delete_rows; the rest is an administrator''s.');
  end if;

  select t.token into v_odd
  from countersign_data.statement_tokens(p_statement) t
  where (t.kind = 'sign' and t.token = '$')  -- dollar quotes, which hide their text from the look at names below
     or (t.kind = 'name' and octet_length(t.token) > 63)
     or (t.kind = 'name' and t.token ~ '[^\x01-\x7f]'
       and not exists (select from pg_class c where c.relname::text = t.token) and not exists (select from pg_attribute a where a.attname::text = t.token)
       and not exists (select from pg_namespace n where n.nspname::text = t.token) and not exists (select from pg_type y where y.typname::text = t.token))
  limit 1;
  if found or p_statement ~* '(^|[^[:alnum:]_])u&["'']' then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'Names in a migration must be plain ASCII of at most 63 bytes, written as they are, and texts must stand in single quotes.',
      'Names that look alike, or that Postgres would cut, deceive whoever approves. Use plain ASCII names.');
  end if;

  -- judge_migration refuses it, but by then it has looked whether the rows fit the bounds, which would tell of them
  if v_parsed.tag in ('ALTER TABLE', 'ALTER INDEX') and (select string_agg(t.token, ' ' order by t.place) from countersign_data.statement_tokens(p_statement) t where t.kind <> 'comment') ~ '\mattach partition\M' then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'Partitions are attached by an administrator.', 'Create a partition of its own: CREATE TABLE … PARTITION OF …');
  end if;
  v_function := countersign_data.unsafe_call_in(p_statement);
  if v_function is not null then
    return countersign_data.outcome_refused('UNSAFE_FUNCTION', format('The statement calls %s(), which a migration may not.', v_function),
      'Leave it out, or ask an administrator to run: countersign allow function ' || v_function);
  end if;
  v_hidden := countersign_data.hidden_table_in(p_statement);
  if v_hidden.tested then
    return countersign_data.outcome_refused('NOT_READABLE', format('The statement would test rows of %s, which agents may not read.', v_hidden.hidden),
      'Add the constraint alone and NOT VALID, leave the expression out, or ask an administrator: countersign allow read ' || v_hidden.hidden);
  end if;
  return null;
end
$$;
comment on function countersign_data.check_migration(text) is 'The refusal a migration''s text deserves before it is run, or null: one statement, of a permitted kind, calling nothing that may not run.';
