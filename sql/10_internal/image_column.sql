create or replace function countersign_data.image_column(p_image text, p_column text, p_whole boolean)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_whole then format('(%s).%I::text', p_image, p_column) else format('pg_catalog.jsonb_extract_path_text(%s, %L)', p_image, p_column) end
$$;
comment on function countersign_data.image_column(text, text, boolean) is 'SQL for the text of one column of a row image.';
