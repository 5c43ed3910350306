create or replace function countersign_data.image_is_whole(p_relation oid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return has_table_privilege('countersign_writer', p_relation, 'SELECT')
    -- a column of the same name would be meant instead of the row
    and not exists (
      select from pg_attribute a join pg_class c on c.oid = a.attrelid
      where a.attrelid = p_relation and not a.attisdropped and a.attname in (c.relname, 'countersign_old', 'countersign_new'));
end
$$;
comment on function countersign_data.image_is_whole(oid) is 'Whether a row''s image is the row itself, or only the columns that countersign_writer may read.';
