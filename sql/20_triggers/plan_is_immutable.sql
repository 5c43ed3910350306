create or replace function countersign_data.plan_is_immutable()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked countersign_data.plan := new;
begin
  -- what may change, put back: the rest must be equal
  v_asked.state := old.state;
  v_asked.state_seq := old.state_seq;
  v_asked.state_hash := old.state_hash;
  v_asked.expires_at := old.expires_at;
  if v_asked is distinct from old then
    raise exception 'a plan is immutable once created' using errcode = 'insufficient_privilege',
      hint = 'Preview again: a changed statement is a new plan.';
  end if;
  return new;
end
$$;
comment on function countersign_data.plan_is_immutable() is 'Only the state columns of a plan may change.';

create or replace trigger _10_plan_is_immutable
before update on countersign_data.plan
for each row execute function countersign_data.plan_is_immutable();
