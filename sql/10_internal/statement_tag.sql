create or replace function countersign_data.statement_tag(p_statement text, out tag text, out error text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  select r.tag, r.error into tag, error from countersign_exec.read_tag(p_statement) r;
end
$$;
comment on function countersign_data.statement_tag(text) is 'The command tag of a text, or ''several'', or the parser''s error; read by countersign_analyst, see read_tag.';
