create or replace function countersign_data.set_transaction_limit(p_value text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_value is distinct from current_setting('transaction_timeout', true) then
    -- by way of 0, since a new value does not move a clock that runs
    perform set_config('transaction_timeout', '0', true);
    perform set_config('transaction_timeout', p_value, true);
  end if;
end
$$;
comment on function countersign_data.set_transaction_limit(text) is 'Sets transaction_timeout and its clock anew, for this transaction; nothing when it has that value, or before Postgres 17.';
