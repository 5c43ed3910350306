create or replace function countersign_data.refuse_other_isolation()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- under REPEATABLE READ a decision taken since the snapshot would not be seen
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Countersign needs READ COMMITTED, this transaction is %', upper(current_setting('transaction_isolation'))
      using errcode = 'invalid_transaction_state', hint = 'Call the function in a transaction of its own.';
  end if;
end
$$;
comment on function countersign_data.refuse_other_isolation() is 'Raises in a transaction whose snapshot is frozen.';
