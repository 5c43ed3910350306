create or replace function countersign_data.row_counters(p_since jsonb default '{}')
returns jsonb
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(x.oid::text, jsonb_build_array(x.i, x.u, x.d)), '{}')
  from (select c.oid,
               pg_stat_get_xact_tuples_inserted(c.oid) - coalesce((p_since->c.oid::text->>0)::bigint, 0) as i,
               pg_stat_get_xact_tuples_updated(c.oid) - coalesce((p_since->c.oid::text->>1)::bigint, 0) as u,
               pg_stat_get_xact_tuples_deleted(c.oid) - coalesce((p_since->c.oid::text->>2)::bigint, 0) as d
        from pg_class c
        where c.relkind in ('r', 'm') and c.relnamespace <> 'pg_catalog'::regnamespace) x
  where x.i > 0 or x.u > 0 or x.d > 0
$$;
comment on function countersign_data.row_counters(jsonb) is 'Rows inserted, updated, deleted in this transaction by table oid, less those counted before.';
