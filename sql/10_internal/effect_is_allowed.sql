create or replace function countersign_data.effect_is_allowed(p_relation oid, p_inserted bigint, p_updated bigint, p_deleted bigint)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a partition is written through its root, which holds the grant
  return (
    select (p_inserted = 0 or has_any_column_privilege('countersign_writer', r.relation, 'INSERT'))
       and (p_updated = 0 or has_any_column_privilege('countersign_writer', r.relation, 'UPDATE'))
       and (p_deleted = 0 or has_table_privilege('countersign_writer', r.relation, 'DELETE')
            -- moving a row to another partition deletes it there
            or (r.relation <> p_relation and has_any_column_privilege('countersign_writer', r.relation, 'UPDATE')))
    from (select coalesce(pg_partition_root(p_relation::regclass)::oid, p_relation) as relation) r);
end
$$;
comment on function countersign_data.effect_is_allowed(oid, bigint, bigint, bigint) is 'Whether the write allowlist covers a measured effect on a table, reached directly or by cascade or trigger.';
