create or replace function countersign_data.event_retries_only_host_plans()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'a failed statement plan is over' using errcode = 'check_violation', hint = 'Preview again.';
end
$$;
comment on function countersign_data.event_retries_only_host_plans() is 'failed -> executing is for plans of hosts, whose effect is outside this database; statement plans have no such event.';

create or replace trigger _05_event_retries_only_host_plans
before insert on countersign_data.event
for each row when (new.from_state = 'failed' and new.to_state = 'executing')
execute function countersign_data.event_retries_only_host_plans();
