-- One level of RFC 8785 a call; leaves are written by the level above them. Strings are escaped by Postgres as JSON.stringify
-- does: short escapes where there are any, lower-case \u00xx for other controls, everything else as it is. Numbers of up to
-- fifteen digits are what a double always keeps, and stand as they are.
create or replace function countersign_data.canonical_value(p_value jsonb, p_depth integer)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_depth > 128 then
    return null;
  end if;
  case jsonb_typeof(p_value)
    when 'object' then
      -- a member that cannot be written makes the whole null: string_agg would only leave it out
      return (
        select case when count(*) = count(m.text) then '{' || coalesce(string_agg(m.key || ':' || m.text, ',' order by m.place), '') || '}' end
        from (select to_jsonb(e.key)::text as key, case when octet_length(e.key) = length(e.key) then convert_to(e.key, 'UTF8') else countersign_data.code_unit_order(e.key) end as place,
                case when jsonb_typeof(e.value) in ('object', 'array') then countersign_data.canonical_value(e.value, p_depth + 1)
                     when jsonb_typeof(e.value) = 'number' and e.value::text !~ '^-?([0-9]{1,15}|[0-9]{1,8}\.[0-9]{0,5}[1-9])$' then countersign_data.json_number(e.value::numeric)
                     else e.value::text end as text
              from jsonb_each(p_value) e
              offset 0) m);  -- a fence: without it each member would be written twice, and at each level again
    when 'array' then
      return (
        select case when count(*) = count(m.text) then '[' || coalesce(string_agg(m.text, ',' order by m.place), '') || ']' end
        from (select e.place,
                case when jsonb_typeof(e.value) in ('object', 'array') then countersign_data.canonical_value(e.value, p_depth + 1)
                     when jsonb_typeof(e.value) = 'number' and e.value::text !~ '^-?([0-9]{1,15}|[0-9]{1,8}\.[0-9]{0,5}[1-9])$' then countersign_data.json_number(e.value::numeric)
                     else e.value::text end as text
              from jsonb_array_elements(p_value) with ordinality as e(value, place)
              offset 0) m);
    when 'number' then
      return countersign_data.json_number(p_value::numeric);
    else
      return p_value::text;
  end case;
end
$$;
comment on function countersign_data.canonical_value(jsonb, integer) is 'A JSON value as RFC 8785 writes it; null when it is nested too deeply or holds a number that a double cannot.';
