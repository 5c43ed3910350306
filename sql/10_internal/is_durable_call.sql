-- What a call that is answered as done must be: on a snapshot of its own, and on disk before the answer. The caller may have
-- set synchronous_commit to off; it is set until the commit, so not by a SET clause, which would be undone before it.
create or replace function countersign_data.is_durable_call()
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform countersign_data.refuse_other_isolation();
  end if;
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  return true;
end
$$;
comment on function countersign_data.is_durable_call() is 'Raises in a transaction whose snapshot is frozen, makes its commit wait for the disk, and is true.';
