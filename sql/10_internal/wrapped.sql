create or replace function countersign_data.wrapped(p_text text, p_width integer)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  -- broken at a space where there is one, else hard
  select regexp_replace(regexp_replace(p_text, '([^\n]{1,' || p_width || '})( +|$)', E'\\1\n', 'ng'), '([^\n]{' || p_width || '})(?=[^\n])', E'\\1\n', 'g')
$$;
comment on function countersign_data.wrapped(text, integer) is 'Text broken into lines of a width.';
