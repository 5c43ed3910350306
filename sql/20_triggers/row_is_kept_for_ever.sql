create or replace function countersign_data.row_is_kept_for_ever()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'countersign_data.% is append-only: % is refused', tg_table_name, tg_op
    using errcode = 'insufficient_privilege', hint = 'History is never rewritten. Record a new event instead.';
end
$$;
comment on function countersign_data.row_is_kept_for_ever() is 'Refuses UPDATE, DELETE and TRUNCATE, for the owner too.';

create or replace trigger _00_event_is_append_only
before update or delete on countersign_data.event
for each row execute function countersign_data.row_is_kept_for_ever();
create or replace trigger _00_event_is_not_truncated
before truncate on countersign_data.event
for each statement execute function countersign_data.row_is_kept_for_ever();
create or replace trigger _00_tombstone_is_append_only
before update or delete on countersign_data.tombstone
for each row execute function countersign_data.row_is_kept_for_ever();
create or replace trigger _00_tombstone_is_not_truncated
before truncate on countersign_data.tombstone
for each statement execute function countersign_data.row_is_kept_for_ever();
