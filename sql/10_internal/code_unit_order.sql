-- RFC 8785 sorts keys by UTF-16 code units, where what needs two of them comes before U+E000. Bytes of UTF-8 have them the
-- other way round, so U+E000 to U+FFFF are given a first byte that is above all others.
create or replace function countersign_data.code_unit_order(p_key text)
returns bytea
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(p_key) = length(p_key) then
    return convert_to(p_key, 'UTF8');
  end if;
  return (
    select string_agg(case when ascii(c.value) between 57344 and 65535 then '\xff'::bytea else ''::bytea end || convert_to(c.value, 'UTF8'), ''::bytea order by c.place)
    from regexp_split_to_table(p_key, '') with ordinality as c(value, place));
end
$$;
comment on function countersign_data.code_unit_order(text) is 'A sort key: bytes in the order of the text''s UTF-16 code units.';
