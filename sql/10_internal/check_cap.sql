create or replace function countersign_data.check_cap(p_relation oid, p_effects jsonb)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_total constant bigint := countersign_data.effects_total(p_effects);
  v_over record;
begin
  -- the total against the target's cap, and every table touched against its own
  select x.* into v_over
  from (select w.relation, w.rows, countersign_data.policy_number('hard_max_rows', w.relation) as cap
        from (select p_relation as relation, v_total as rows
              union
              select e.key::oid, (e.value->>0)::bigint + (e.value->>1)::bigint + (e.value->>2)::bigint from jsonb_each(p_effects) e) w) x
  where x.rows > x.cap
  limit 1;
  if found then
    return countersign_data.refusal_over_cap(v_over.relation, v_over.rows, v_over.cap, countersign_data.effects_shown(p_effects));
  end if;
  return null;
end
$$;
comment on function countersign_data.check_cap(oid, jsonb) is 'The refusal for effects above the hard cap, or null.';
