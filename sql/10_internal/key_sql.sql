create or replace function countersign_data.key_sql(p_relation oid, p_image text, p_whole boolean)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a primary key names a row only when agents may see all of it
  return (
    select case when bool_and(has_column_privilege('countersign_reader', p_relation, a.attnum, 'SELECT') and has_column_privilege('countersign_writer', p_relation, a.attnum, 'SELECT'))
                then string_agg(format('%L || %s', a.attname || '=', countersign_data.image_column(p_image, a.attname, p_whole)), ' || '', '' || ' order by k.place) end
    from pg_index i, unnest(i.indkey::smallint[]) with ordinality as k(attnum, place)
    join pg_attribute a on a.attnum = k.attnum
    where i.indrelid = p_relation and i.indisprimary and a.attrelid = p_relation and k.place <= i.indnkeyatts);
end
$$;
comment on function countersign_data.key_sql(oid, text, boolean) is 'SQL that names a row by its primary key, id=5; null when there is none or it is hidden.';
