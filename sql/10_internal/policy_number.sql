create or replace function countersign_data.policy_number(p_key text, p_relation oid)
returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return countersign_data.policy_value(p_key, p_relation)::bigint;
end
$$;
comment on function countersign_data.policy_number(text, oid) is 'An integer policy in force for a relation.';
