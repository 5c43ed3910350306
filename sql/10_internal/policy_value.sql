create or replace function countersign_data.policy_value(p_key text, p_relation oid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- most questions are about the whole database
  if coalesce(p_relation, 0) = 0 then
    return (
      select coalesce((select r.value from countersign_data.policy_row r where r.key = k.key and r.scope = 'database' and r.scope_oid = 0), k.default_value)
      from countersign_data.policy_key k
      where k.key = p_key);
  end if;
  -- a partition is governed by its own rows, then by its root table's, then the schema's, then the database's
  return (
    select coalesce(
      (select r.value
       from countersign_data.policy_row r
       where r.key = k.key
         and case r.scope
           when 'database' then true
           when 'table' then r.scope_oid = p_relation or r.scope_oid = pg_partition_root(p_relation::regclass)
           else r.scope_oid = (select c.relnamespace from pg_class c where c.oid = p_relation) end
       order by case r.scope when 'table' then 1 when 'schema' then 2 else 3 end, (r.scope_oid = p_relation) desc
       limit 1),
      k.default_value)
    from countersign_data.policy_key k
    where k.key = p_key);
end
$$;
comment on function countersign_data.policy_value(text, oid) is 'The policy in force for a key on a relation (0: the database): the most specific row wins.';
