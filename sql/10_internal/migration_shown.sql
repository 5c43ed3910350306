create or replace function countersign_data.migration_shown(p_statement text, p_measured jsonb)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with named as (  -- and not to_regclass, which raises where the engine has no USAGE on the schema
    select c.oid, c.relkind, c.reltuples, format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  )
  select jsonb_build_object(
    'effects', countersign_data.effects_shown(p_measured->'effects'),
    'sample_rows', '[]'::jsonb, 'changes', '[]'::jsonb, 'whole_table', false,
    'triggers', countersign_data.triggers_fired(p_measured->'effects'),
    'undo', jsonb_build_object('kind', 'none', 'why', 'A migration is undone by another migration.'),
    'migration', jsonb_build_object(
      'tag', (countersign_data.statement_tag(p_statement)).tag,
      'locks', p_measured->'locks',
      -- what a migration makes belongs to the role that runs it, and the application's own role cannot even read it
      'owned_by_migrator', (select coalesce(jsonb_agg(f.value->>1), '[]') from jsonb_array_elements(p_measured->'added') f where f.value->>0 = 'owner' and f.value->>2 = 'countersign_migrator'),
      'rewrites', (select coalesce(jsonb_agg(jsonb_build_object('table', r.value, 'rows_estimate', nullif(greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid)), -1), 'bytes', pg_relation_size(c.oid))), '[]')
                   from jsonb_array_elements_text(p_measured->'rewrites') r left join named c on c.name = r.value),
      'added', (select coalesce(jsonb_agg(concat_ws(' ', f.value->>0, f.value->>1, ':', f.value->>2)), '[]') from jsonb_array_elements(p_measured->'added') f),
      'removed', (select coalesce(jsonb_agg(concat_ws(' ', f.value->>0, f.value->>1, ':', f.value->>2)), '[]') from jsonb_array_elements(p_measured->'removed') f),
      -- what is lost: of a dropped table its rows, of a dropped column its values, both estimated from statistics;
      -- a new name or schema is not a loss, and no statement gives one and drops something else
      'rows_lost_estimate', (
        select coalesce(jsonb_agg(jsonb_build_object('object', f.value->>1, 'rows', n.rows)), '[]')
        from jsonb_array_elements(p_measured->'removed') f
        cross join lateral (select case f.value->>0 when 'relation' then f.value->>1 when 'column' then regexp_replace(f.value->>1, '\.("([^"]|"")*"|[^".]*)$', '') end as name) r
        join named c on c.name = r.name
        -- never analyzed and not counted yet: null is unknown, and 0 would be a lie
        cross join lateral (select greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) as known) k
        cross join lateral (select case when k.known > 0 or c.relkind = 'p' or pg_relation_size(c.oid) = 0 then k.known end as rows) n
        where c.relkind in ('r', 'm', 'p')
          and not (p_statement ~* '\m(rename|set\s+schema)\M' and p_statement !~* '\mdrop\M')
          and not exists (select from jsonb_array_elements(p_measured->'added') n where n.value->>0 = f.value->>0 and n.value->>1 = f.value->>1)  -- only altered
          and not (f.value->>0 = 'column' and (
            exists (select from jsonb_array_elements(p_measured->'removed') g where g.value->>0 = 'relation' and g.value->>1 = r.name))))))
$$;
comment on function countersign_data.migration_shown(text, jsonb) is 'What a migration''s preview shows: locks, rewrites, catalog lines added and removed, rows lost.';
