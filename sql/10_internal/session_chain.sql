create or replace function countersign_data.session_chain()
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return lpad(to_hex(pg_backend_pid()), 32, '0')::uuid;
end
$$;
comment on function countersign_data.session_chain() is 'Chain of the events that belong to no plan: one a backend, so that sessions never wait for each other. A reused pid goes on with the same chain.';
