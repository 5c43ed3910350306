create or replace function countersign_data.token_of(p_token text)
returns uuid
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- an expression without a select is what PL/pgSQL evaluates fast
  return case when p_token ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then p_token::uuid end;
end
$$;
comment on function countersign_data.token_of(text) is 'A plan token, or null for anything that does not look exactly like one.';
