create or replace function countersign_data.relation_is_readable(p_relation oid, p_attnums integer[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select case
      -- the system catalogs are open to PUBLIC, which is nobody's decision: they take a grant to the reader itself
      when n.nspname = 'pg_catalog' then exists (
        select from aclexplode(c.relacl) a
        where a.grantee = 'countersign_reader'::regrole and a.privilege_type = 'SELECT')
      -- a session's temporary objects are granted by whoever made them; a view there would run its maker's code as the writer
      when n.nspname ~ '^pg_' then false
      when not has_schema_privilege('countersign_reader', c.relnamespace, 'USAGE') then false
      when has_table_privilege('countersign_reader', c.oid, 'SELECT') then true
      when 0 = any(p_attnums) then false
      when p_attnums = '{}' then has_any_column_privilege('countersign_reader', c.oid, 'SELECT')
      else coalesce((select bool_and(has_column_privilege('countersign_reader', c.oid, a::smallint, 'SELECT')) from unnest(p_attnums) a where a > 0),
                    has_any_column_privilege('countersign_reader', c.oid, 'SELECT'))  -- system columns only
    end
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = p_relation);
end
$$;
comment on function countersign_data.relation_is_readable(oid, integer[]) is 'Whether the readers'' group may SELECT these columns (0: the whole row; none: any) of a relation.';
