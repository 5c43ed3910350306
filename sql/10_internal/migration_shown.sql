create or replace function countersign_data.migration_shown(p_statement text, p_measured jsonb)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'effects', countersign_data.effects_shown(p_measured->'effects'),
    'sample_rows', '[]'::jsonb, 'changes', '[]'::jsonb, 'whole_table', false,
    'triggers', countersign_data.triggers_fired(p_measured->'effects'),
    'undo', jsonb_build_object('kind', 'none', 'why', 'A migration is undone by another migration.'),
    'migration', jsonb_build_object(
      'tag', (countersign_data.statement_tag(p_statement)).tag,
      'locks', p_measured->'locks',
      'rewrites', (select coalesce(jsonb_agg(jsonb_build_object('table', r.value, 'rows_estimate', greatest(c.reltuples, 0)::bigint, 'bytes', pg_relation_size(c.oid))), '[]')
                   from jsonb_array_elements_text(p_measured->'rewrites') r left join pg_class c on c.oid = to_regclass(r.value)),
      'added', (select coalesce(jsonb_agg(concat_ws(' ', f.value->>0, f.value->>1, ':', f.value->>2)), '[]') from jsonb_array_elements(p_measured->'added') f),
      'removed', (select coalesce(jsonb_agg(concat_ws(' ', f.value->>0, f.value->>1, ':', f.value->>2)), '[]') from jsonb_array_elements(p_measured->'removed') f),
      -- what is lost: of a dropped table its rows, of a dropped column its values, both estimated from statistics;
      -- a new name or schema is not a loss, and no statement gives one and drops something else
      'rows_lost_estimate', (
        select coalesce(jsonb_agg(jsonb_build_object('object', f.value->>1, 'rows', greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0))), '[]')
        from jsonb_array_elements(p_measured->'removed') f
        cross join lateral (select case f.value->>0 when 'relation' then f.value->>1 when 'column' then regexp_replace(f.value->>1, '\.[^.]*$', '') end as name) r
        join pg_class c on c.oid = to_regclass(r.name)
        where c.relkind in ('r', 'm', 'p')
          and not (p_statement ~* '\m(rename|set\s+schema)\M' and p_statement !~* '\mdrop\M')
          and not (f.value->>0 = 'column' and (
            exists (select from jsonb_array_elements(p_measured->'added') n where n.value->>0 = 'column' and n.value->>1 = f.value->>1)
            or exists (select from jsonb_array_elements(p_measured->'removed') g where g.value->>0 = 'relation' and g.value->>1 = r.name))))))
$$;
comment on function countersign_data.migration_shown(text, jsonb) is 'What a migration''s preview shows: locks, rewrites, catalog lines added and removed, rows lost.';
