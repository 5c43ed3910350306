create or replace function countersign.revoke(p_verb text, p_name text, p_columns text[] default null)
returns countersign.outcome
language sql
set search_path = pg_catalog, pg_temp
as $$
  select countersign.change_allowlist(false, p_verb, p_name, p_columns)
$$;
comment on function countersign.revoke(text, text, text[]) is 'Administrator: takes back what allow gave.';
