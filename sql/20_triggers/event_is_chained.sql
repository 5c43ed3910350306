create or replace function countersign_data.event_is_chained()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last record;
begin
  new.chain := coalesce(new.plan_token, countersign_data.session_chain());
  new.ts := clock_timestamp();
  new.login := session_user;
  select e.seq, e.hash into v_last
  from countersign_data.event e
  where e.chain = new.chain
  order by e.seq desc
  limit 1;
  new.seq := coalesce(v_last.seq, 0) + 1;
  new.prev_seq := v_last.seq;
  new.prev_hash := v_last.hash;
  new.hash := countersign_data.event_digest(new);
  return new;
end
$$;
comment on function countersign_data.event_is_chained() is 'Place, clock, identity and hash of an event are set here, whatever the insert says.';

create or replace trigger _10_event_is_chained
before insert on countersign_data.event
for each row execute function countersign_data.event_is_chained();
