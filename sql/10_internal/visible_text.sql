-- A terminal or a page must never be steered by what an agent wrote: controls, bidi overrides and zero-width
-- characters are written out as \u{hex}. Newline and tab stay.
create or replace function countersign_data.visible_text(p_text text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_out text := p_text;
  v_char text;
begin
  for v_char in
    select distinct m[1]
    from regexp_matches(p_text, U&'([\0001-\0008\000B-\001F\007F-\009F\00AD\034F\061C\115F\1160\17B4\17B5\180B-\180F\200B-\200F\2028-\202F\205F-\206F\2800\3164\FE00-\FE0F\FEFF\FFA0\FFF0-\FFFB\+01BCA0-\+01BCA3\+01D173-\+01D17A\+0E0000-\+0E0FFF])', 'g') as m
  loop
    v_out := replace(v_out, v_char, '\u{' || upper(to_hex(ascii(v_char))) || '}');
  end loop;
  return v_out;
end
$$;
comment on function countersign_data.visible_text(text) is 'Text made safe to show: control, bidi and zero-width characters written out as \u{hex}.';
