-- ECMAScript's Number::toString over the digits of a number, which must be all that a double needs to be told apart.
create or replace function countersign_data.json_number(p_number numeric)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_shortest constant numeric := (p_number::float8)::text::numeric;
  v_text constant text := abs(p_number)::text;
  v_whole constant text := ltrim(split_part(v_text, '.', 1), '0');
  v_part constant text := split_part(v_text, '.', 2);
  v_digits constant text := rtrim(ltrim(v_whole || v_part, '0'), '0');
  v_sign constant text := case when p_number < 0 then '-' else '' end;
  v_point integer;  -- where the point stands, counted from the first digit
begin
  if p_number = 0 then
    return '0';
  end if;
  -- Postgres leaves out the ends of the interval that rounds to a double, ECMAScript takes one if it is shorter (5e-324, 1e23)
  if v_shortest <> p_number and length(v_digits) >= length(btrim(replace(abs(v_shortest)::text, '.', ''), '0')) then
    return null;
  end if;
  v_point := case when v_whole <> '' then length(v_whole) else length(ltrim(v_part, '0')) - length(v_part) end;
  return v_sign || case
    when v_point between length(v_digits) and 21 then rpad(v_digits, v_point, '0')
    when v_point between 1 and 21 then left(v_digits, v_point) || '.' || substr(v_digits, v_point + 1)
    when v_point between -5 and 0 then '0.' || repeat('0', -v_point) || v_digits
    else left(v_digits, 1) || case when length(v_digits) > 1 then '.' || substr(v_digits, 2) else '' end
         || 'e' || case when v_point > 0 then '+' else '-' end || abs(v_point - 1) end;
end
$$;
comment on function countersign_data.json_number(numeric) is 'A number as RFC 8785 writes it; null when a double cannot hold it exactly.';
