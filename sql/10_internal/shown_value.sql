-- Values arrive whole: what JSON or a JavaScript number would bend goes as text. A very long one is cut, and says so.
create or replace function countersign_data.shown_value(p_expression text, p_type oid)
returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when b.typname in ('int2', 'int4', 'bool', 'date', 'timestamp', 'timestamptz', 'time', 'timetz', 'uuid', 'float4', 'float8') then p_expression
    when b.typname in ('int8', 'numeric', 'money', 'oid', 'xid8', 'interval') then p_expression || '::text'
    when b.typname in ('_int8', '_numeric') then p_expression || '::text[]'
    else format('case when length(%1$s::text) <= 2000 then to_jsonb(%1$s) else to_jsonb(left(%1$s::text, 2000) || ''… ('' || length(%1$s::text) || '' characters)'') end', p_expression)
  end
  from pg_type t
  join pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
  where t.oid = p_type
$$;
comment on function countersign_data.shown_value(text, oid) is 'SQL that shows a column''s value in JSON without losing a digit.';
