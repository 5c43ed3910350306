create or replace function countersign_data.mark_sql(p_relation oid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select format('%L || ', countersign_data.qualified_name(p_relation) || ' ') || coalesce(
      (select case when bool_and(has_column_privilege('countersign_writer', p_relation, a.attnum, 'SELECT'))
                   then string_agg(format('%L || coalesce(pg_catalog.jsonb_extract_path_text(image, %L), '''')', a.attname || '=', a.attname), ' || '', '' || ' order by k.place) end
       from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k(attnum, place) join pg_attribute a on a.attnum = k.attnum
       where i.indrelid = p_relation and i.indisprimary and a.attrelid = p_relation and k.place <= i.indnkeyatts),
      '''row '' || pg_catalog.left(pg_catalog.encode(hash, ''hex''), 12)'));
end
$$;
comment on function countersign_data.mark_sql(oid) is 'SQL that names a row reached by a cascade, its table and key, from its image as jsonb.';
