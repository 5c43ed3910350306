create or replace function countersign_data.policy_milliseconds(p_key text, p_relation oid)
returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- at least 1, since 0 switches a timeout off; at most what a setting can hold
  return least(greatest(extract(epoch from countersign_data.policy_value(p_key, p_relation)::interval) * 1000, 1), 2147483647)::bigint;
end
$$;
comment on function countersign_data.policy_milliseconds(text, oid) is 'An interval policy in force for a relation, in milliseconds.';
