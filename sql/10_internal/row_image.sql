-- The row a name stands for, as far as countersign_writer may read it: the row itself when it may read all of it, else its
-- readable columns as JSON (an anonymous record does not survive a WITH on every version).
create or replace function countersign_data.row_image(p_relation oid, p_alias text, p_whole boolean)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_whole then
    return p_alias;
  end if;
  return coalesce(
    (select format('(select pg_catalog.to_jsonb(countersign_image.*) from (select %s) as countersign_image)', string_agg(format('%s.%I', p_alias, a.attname), ', ' order by a.attnum))
     from pg_attribute a
     where a.attrelid = p_relation and a.attnum > 0 and not a.attisdropped and has_column_privilege('countersign_writer', p_relation, a.attnum, 'SELECT')),
    '''{}''::jsonb');
end
$$;
comment on function countersign_data.row_image(oid, text, boolean) is 'SQL for the image of a row under an alias: the whole row, or the columns the writer may read as jsonb.';
