create or replace function countersign_data.tables_touched(p_plan countersign_data.plan)
returns setof oid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select coalesce(p_plan.relation, 0);
  return query select e.key::oid from jsonb_each(case p_plan.kind when 'migration' then p_plan.effects->'effects' else p_plan.effects end) e;
  if p_plan.kind = 'migration' then
    -- of what it alters or drops it holds a lock; a lock is recorded by name, since what is new has no oid that stays
    return query select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where format('%I.%I', n.nspname, c.relname) in (select l.value->>'table' from jsonb_array_elements(p_plan.effects->'locks') l);
  end if;
end
$$;
comment on function countersign_data.tables_touched(countersign_data.plan) is 'Every table a plan changes, cascades and triggers included; 0 stands for the database.';
