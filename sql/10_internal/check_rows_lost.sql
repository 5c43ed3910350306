-- Catalogs do not tell how full a table is, and a human agreed to losing what was shown. Estimates move by themselves, so
-- only what at least doubled, and by more than a thousand rows, counts as something else.
create or replace function countersign_data.check_rows_lost(p_plan countersign_data.plan)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_more record;
begin
  select n.value->>'object' as object, (n.value->>'rows')::bigint as found, (o.value->>'rows')::bigint as previewed into v_more
  from jsonb_array_elements(countersign_data.migration_shown(p_plan.statement, p_plan.effects)->'migration'->'rows_lost_estimate') n
  join jsonb_array_elements(p_plan.shown->'migration'->'rows_lost_estimate') o on o.value->>'object' = n.value->>'object'
  where (n.value->>'rows')::bigint > greatest(2 * (o.value->>'rows')::bigint, (o.value->>'rows')::bigint + 1000)
  limit 1;
  if found then
    return countersign_data.outcome_refused('EFFECTS_CHANGED', format('%s holds about %s rows now, and held %s when this was previewed. Nothing was changed.', v_more.object, v_more.found, v_more.previewed),
      'Preview again, so that a human sees what would be lost now.');
  end if;
  return null;
end
$$;
comment on function countersign_data.check_rows_lost(countersign_data.plan) is 'The refusal of a migration that would lose far more rows now than were shown, or null.';
