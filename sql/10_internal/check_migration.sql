create or replace function countersign_data.check_migration(p_statement text)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_parsed record;
  v_function text;
begin
  if octet_length(p_statement) > 65536 or p_statement <> countersign_data.visible_text(p_statement) then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', 'The statement is longer than 64 KiB or holds control, bidi or zero-width characters.', 'Send plain SQL, one statement.');
  end if;
  v_parsed := countersign_data.statement_tag(p_statement);
  if v_parsed.error is not null then
    return countersign_data.outcome_refused('STATEMENT_FAILED', v_parsed.error, 'Correct the statement.');
  elsif v_parsed.tag = 'several' then
    return countersign_data.outcome_refused('MULTI_STATEMENT', 'run_migration takes exactly one statement.', 'Send one statement; preview each migration by a call of its own.');
  elsif v_parsed.tag not in (
      'CREATE TABLE', 'ALTER TABLE', 'DROP TABLE', 'CREATE INDEX', 'ALTER INDEX', 'DROP INDEX', 'CREATE VIEW', 'ALTER VIEW', 'DROP VIEW',
      'CREATE SEQUENCE', 'ALTER SEQUENCE', 'DROP SEQUENCE', 'CREATE TYPE', 'ALTER TYPE', 'DROP TYPE', 'CREATE STATISTICS', 'DROP STATISTICS', 'COMMENT') then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', format('run_migration does not run %s.', v_parsed.tag),
      'It takes CREATE, ALTER and DROP of tables, indexes, views, sequences and types, and COMMENT. Rows are changed by insert_rows, update_rows and delete_rows; the rest is an administrator''s.');
  elsif p_statement ~* 'u&["'']' or p_statement ~ '[^\x01-\x7f]' and p_statement ~ '"[^"]*[^\x01-\x7f][^"]*"' then
    return countersign_data.outcome_refused('UNSUPPORTED_STATEMENT', 'Names in a migration must be plain ASCII: letters that look alike would deceive whoever approves.', 'Use ASCII names.');
  end if;
  -- expressions in DEFAULT, USING and CHECK run functions; those outside pg_catalog need an administrator's word
  select p.proname into v_function
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where p.oid >= 16384 and n.nspname !~ '^countersign' and not exists (select from countersign_data.allowed_function f where f.function = p.oid)
    and strpos(lower(p_statement), lower(p.proname)) > 0
    and p_statement ~* ('(^|[^[:alnum:]_])' || regexp_replace(p.proname, '([^[:alnum:]_])', '\\\1', 'g') || '"?\s*\(')
  limit 1;
  if found then
    return countersign_data.outcome_refused('UNSAFE_FUNCTION', format('The statement calls %s(), a function outside pg_catalog.', v_function),
      'Leave it out, or ask an administrator to run: countersign allow function ' || v_function);
  end if;
  return null;
end
$$;
comment on function countersign_data.check_migration(text) is 'The refusal a migration''s text deserves before it is run, or null: one statement, of a permitted kind, calling no function of the application.';
