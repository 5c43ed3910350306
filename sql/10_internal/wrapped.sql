create or replace function countersign_data.wrapped(p_text text, p_width integer)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_out text[] := '{}';
  v_line text;
  v_cut integer;
begin
  if p_text is null then
    return null;
  end if;
  foreach v_line in array string_to_array(p_text, E'\n') loop
    while length(v_line) > p_width loop
      -- at the last space of the line's width, else hard
      v_cut := p_width + 1 - strpos(reverse(left(v_line, p_width + 1)), ' ') + 1;
      if v_cut > p_width + 1 or v_cut < p_width / 2 then
        v_out := v_out || left(v_line, p_width);
        v_line := substr(v_line, p_width + 1);
      else
        v_out := v_out || rtrim(left(v_line, v_cut));
        v_line := ltrim(substr(v_line, v_cut + 1));
      end if;
    end loop;
    v_out := v_out || v_line;
  end loop;
  return array_to_string(v_out, E'\n');
end
$$;
comment on function countersign_data.wrapped(text, integer) is 'Text broken into lines of a width.';
