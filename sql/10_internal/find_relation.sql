-- A name is resolved once, here, under the configured search path and nobody else's; everything after holds the oid.
-- Names fold as in SQL; a name that exists only with the given capitals is found too, since agents rarely quote.
create or replace function countersign_data.find_relation(p_name text)
returns oid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_folded text[];
  v_exact text[];
  v_parts text[];
  v_schema text;
  v_found oid;
begin
  if p_name is null or btrim(p_name) = '' then
    return null;
  end if;
  begin
    v_folded := parse_ident(p_name);
  exception when invalid_parameter_value then
    v_folded := null;
  end;
  v_exact := string_to_array(p_name, '.');
  foreach v_parts slice 1 in array case when v_folded is null or cardinality(v_folded) <> cardinality(v_exact)
                                        then array[coalesce(v_folded, v_exact)] else array[v_folded, v_exact] end loop
    if cardinality(v_parts) = 3 and v_parts[1] = current_database() then
      v_parts := v_parts[2:3];
    end if;
    if cardinality(v_parts) not in (1, 2) then
      continue;
    end if;
    foreach v_schema in array case cardinality(v_parts) when 2 then v_parts[1:1]
                                   else (select s.search_path from countersign_data.setting s) end loop
      select c.oid into v_found
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname::text = v_schema and c.relname::text = v_parts[cardinality(v_parts)]
        and c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^(pg_temp|pg_toast|countersign)';
      if found then
        return v_found;
      end if;
    end loop;
  end loop;
  return null;
end
$$;
comment on function countersign_data.find_relation(text) is 'The table, view or partition a name means in this database, or null. Never a temporary or a Countersign relation.';
