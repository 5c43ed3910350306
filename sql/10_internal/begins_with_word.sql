-- To ask for the tag of a text (statement_tag), a cursor is opened on it, and a query would be planned: planning runs
-- functions, and their errors talk. So queries are found out first, as the subject of PREPARE; and what PREPARE does not
-- take must begin with a word, for an empty statement would hide a query behind it.
create or replace function countersign_data.begins_with_word(p_statement text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((select t.kind = 'name' and t.token ~ '^[a-z]' from countersign_data.statement_tokens(p_statement) t where t.kind <> 'comment' order by t.place limit 1), false)
    and p_statement !~ '/\*([^*]|\*+[^*/])*/\*'  -- the tokens know no comment within a comment
$$;
comment on function countersign_data.begins_with_word(text) is 'Whether a text that is no subject of PREPARE may be asked for its tag: it begins with a command.';
