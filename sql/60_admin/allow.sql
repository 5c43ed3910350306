create or replace function countersign.allow(p_verb text, p_name text, p_columns text[] default null)
returns countersign.outcome
language sql
set search_path = pg_catalog, pg_temp
as $$
  select countersign.change_allowlist(true, p_verb, p_name, p_columns)
$$;
comment on function countersign.allow(text, text, text[]) is 'Administrator: makes a table readable or writable for agents (or a function callable). verb: read, write, function.';
