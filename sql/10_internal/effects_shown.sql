create or replace function countersign_data.effects_shown(p_effects jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
        'table', coalesce(countersign_data.qualified_name(e.relation), e.relation::text),
        'inserted', e.inserted, 'updated', e.updated, 'deleted', e.deleted,
        'writable', countersign_data.effect_is_allowed(e.relation, e.inserted, e.updated, e.deleted))
      order by e.inserted + e.updated + e.deleted desc, e.relation), '[]')
    from (select x.key::oid as relation, (x.value->>0)::bigint as inserted, (x.value->>1)::bigint as updated, (x.value->>2)::bigint as deleted
          from jsonb_each(p_effects) x) e);
end
$$;
comment on function countersign_data.effects_shown(jsonb) is 'Measured effects by table name, and whether the write allowlist covers them.';
