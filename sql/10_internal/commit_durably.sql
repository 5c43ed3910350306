-- The caller may have set it to off, and what is answered must survive a crash. Until the commit, so not a SET clause of the
-- function, which would be undone before it.
create or replace function countersign_data.commit_durably()
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
comment on function countersign_data.commit_durably() is 'Makes the transaction''s commit wait until it is on disk.';
