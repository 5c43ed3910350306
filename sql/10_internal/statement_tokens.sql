-- Comments and strings out of the way, names folded: enough of a lexer to see which names are followed by a bracket.
-- One pattern, longest match first, so that a quote within a comment and a comment within a string count for nothing.
create or replace function countersign_data.statement_tokens(p_statement text)
returns table (place bigint, kind text, token text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select m.place,
    case when t ~ '^(--|/\*)' then 'comment' when t ~ '^[eE]?''.*''$' then 'string' when t ~ '^".*"$' or t ~ '^[A-Za-z_\u0080-\U0010ffff]' then 'name' else 'sign' end,
    case when t ~ '^".*"$' then replace(substr(t, 2, length(t) - 2), '""', '"')
         when t ~ '^[A-Za-z_\u0080-\U0010ffff]' and t !~ '^[eE]''' then lower(t collate "C")
         else t end
  from regexp_matches(p_statement,
    '(--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/|[eE]''(?:[^''\\]|\\.|'''')*''|''(?:[^'']|'''')*''|"(?:[^"]|"")*"|[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*|[^\s])',
    'g') with ordinality as m (match, place), unnest(m.match) t
$$;
comment on function countersign_data.statement_tokens(text) is 'The names, strings, comments and signs of a statement in order; names as Postgres folds them.';
