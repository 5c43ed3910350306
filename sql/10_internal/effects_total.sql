create or replace function countersign_data.effects_total(p_effects jsonb)
returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(sum((x.value->>0)::bigint + (x.value->>1)::bigint + (x.value->>2)::bigint), 0)::bigint from jsonb_each(p_effects) x);
end
$$;
comment on function countersign_data.effects_total(jsonb) is 'Rows changed in all tables together.';
