-- A session may have set its own statement_timeout to any length, and while DDL runs nobody else gets at the table. What
-- the caller cannot take back from inside a running statement is transaction_timeout; it ends the session.
create or replace function countersign_data.limit_transaction(p_value text)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_own text;
begin
  if current_setting('server_version_num')::integer >= 170000 and p_value is not null then
    v_own := current_setting('transaction_timeout');
    -- by way of 0, since a new value does not move a timer that runs
    perform set_config('transaction_timeout', '0', true);
    perform set_config('transaction_timeout', p_value, true);
  end if;
  return v_own;
end
$$;
comment on function countersign_data.limit_transaction(text) is 'Sets transaction_timeout for now and answers what it was, null where nothing was done (no value, or before Postgres 17).';
