-- Values arrive whole: a number that JavaScript would round goes as text. A very long value is cut, and says so.
create or replace function countersign_data.row_shown(p_relation oid, p_image jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(jsonb_typeof(p_image), 'null') = 'null' then
    return null;
  end if;
  return (
    select coalesce(jsonb_object_agg(v.key, case
        when jsonb_typeof(v.value) = 'number' and t.typname in ('int8', 'numeric', 'oid', 'xid8') then to_jsonb(v.value #>> '{}')
        when jsonb_typeof(v.value) = 'array' and t.typname in ('_int8', '_numeric') then
          regexp_replace(v.value::text, '(-?[0-9][0-9.eE+-]*)', '"\1"', 'g')::jsonb
        when length(v.value::text) > 2000 then to_jsonb(left(v.value #>> '{}', 2000) || format('… (%s characters)', length(v.value #>> '{}')))
        else v.value end), '{}')
    from jsonb_each(p_image) v
    join pg_attribute a on a.attrelid = p_relation and a.attname::text = v.key and a.attnum > 0 and not a.attisdropped
    join pg_type d on d.oid = a.atttypid
    join pg_type t on t.oid = case d.typtype when 'd' then d.typbasetype else d.oid end
    where has_column_privilege('countersign_reader', p_relation, a.attnum, 'SELECT'));
end
$$;
comment on function countersign_data.row_shown(oid, jsonb) is 'A row image as agents are shown it: only columns they may read, no digit lost.';
