-- 'a' continued by 'b' on the next line is one string; after E it stays an E-string, which statement_tokens does not know.
create or replace function countersign_data.tokens_may_differ(p_statement text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_statement ~* '(^|[^[:alnum:]_])e''' and p_statement ~ '''[[:space:]]*[\n\r][[:space:]]*'''
$$;
comment on function countersign_data.tokens_may_differ(text) is 'Whether Postgres might read a text otherwise than statement_tokens: it holds an E-string, and a string beside one on another line.';
