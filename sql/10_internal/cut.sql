create or replace function countersign_data.cut(p_text text, p_length integer)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when length(p_text) > p_length then left(p_text, p_length) || format(' … (%s characters)', length(p_text)) else p_text end
$$;
comment on function countersign_data.cut(text, integer) is 'Text of at most a length; what was cut says so, so that nobody decides on a part and takes it for the whole.';
