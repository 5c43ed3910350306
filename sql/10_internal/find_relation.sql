-- A name is resolved once, here, under the configured search path and nobody else's; everything after holds the oid.
-- Names fold as in SQL; a name that exists only with the given capitals is found too, since agents rarely quote.
create or replace function countersign_data.find_relation(p_name text)
returns oid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_folded text[];
  v_exact constant text[] := string_to_array(p_name, '.');
begin
  begin
    v_folded := parse_ident(p_name);
  exception when invalid_parameter_value then
    v_folded := null;  -- not written as SQL would have it: only the exact name can match
  end;
  return (
    select c.oid
    from (values (1, v_folded), (2, v_exact)) as written(place, parts)
    cross join lateral (select case when cardinality(parts) = 3 and parts[1] = current_database() then parts[2:3] else parts end as parts) as named
    join pg_class c on c.relname = named.parts[cardinality(named.parts)]::name
    join pg_namespace n on n.oid = c.relnamespace
    cross join countersign_data.setting s
    where octet_length(named.parts[cardinality(named.parts)]) < 64  -- a longer one would be cut to fit, and mean another
      and case cardinality(named.parts) when 1 then n.nspname::text = any(s.search_path) when 2 then n.nspname::text = named.parts[1] else false end
      and c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^(pg_temp|pg_toast|countersign)'
    order by written.place, array_position(s.search_path, n.nspname::text)
    limit 1);
end
$$;
comment on function countersign_data.find_relation(text) is 'The table, view or partition a name means in this database, or null. Never a temporary or a Countersign relation.';
