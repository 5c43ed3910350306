create or replace function countersign_data.event_retries_only_host_plans()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from countersign_data.plan q where q.token = new.plan_token and q.kind = 'host') then
    return new;
  end if;
  raise exception 'a failed statement plan is over' using errcode = 'check_violation', hint = 'Preview again.';
end
$$;
comment on function countersign_data.event_retries_only_host_plans() is 'What follows a failure (executing again, rejected, expired) is for plans of hosts, whose effect is outside this database; statement plans have no such event.';

create or replace trigger _05_event_retries_only_host_plans
before insert on countersign_data.event
for each row when (new.from_state = 'failed' and (new.to_state <> 'failed' or new.status = 'hard_cap_refused'))
execute function countersign_data.event_retries_only_host_plans();
