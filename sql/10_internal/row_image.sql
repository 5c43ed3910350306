-- The row a name stands for, as far as countersign_writer may read it. Whole when it may read all; else only those columns.
create or replace function countersign_data.row_image(p_relation oid, p_alias text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if has_table_privilege('countersign_writer', p_relation, 'SELECT')
     -- a column of the same name would be meant instead of the row
     and not exists (select from pg_attribute a where a.attrelid = p_relation and quote_ident(a.attname) = p_alias and not a.attisdropped) then
    return p_alias;
  end if;
  return coalesce(
    (select format('(select countersign_image from (select %s) as countersign_image)', string_agg(format('%s.%I', p_alias, a.attname), ', ' order by a.attnum))
     from pg_attribute a
     where a.attrelid = p_relation and a.attnum > 0 and not a.attisdropped and has_column_privilege('countersign_writer', p_relation, a.attnum, 'SELECT')),
    '(select countersign_image from (select null::text as hidden) as countersign_image)');
end
$$;
comment on function countersign_data.row_image(oid, text) is 'SQL for the image of a row under an alias, limited to the columns the writer may read.';
