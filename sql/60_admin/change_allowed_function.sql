create or replace function countersign.change_allowed_function(p_grant boolean, p_name text)
returns countersign.outcome
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
as $$
declare
  v_functions oid[];
begin
  -- a signature, schema.name for every overload, or extension:NAME for all functions of an extension
  if p_name ~ '^extension:' then
    select array_agg(d.objid) into v_functions from pg_depend d join pg_extension x on x.oid = d.refobjid
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e' and x.extname::text = substr(p_name, 11);
  elsif p_name ~ '\(' then
    v_functions := array_remove(array[to_regprocedure(p_name)::oid], null);
  else
    select array_agg(p.oid) into v_functions from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where array[n.nspname::text, p.proname::text] = parse_ident(p_name)
       or (array[p.proname::text] = parse_ident(p_name) and n.nspname::text = any((select s.search_path from countersign_data.setting s)::text[]));
  end if;
  if coalesce(cardinality(v_functions), 0) = 0 then
    return countersign_data.outcome_refused('INVALID_ARGUMENTS', format('There is no function %s.', p_name), 'Give schema.name, a full signature, or extension:NAME.');
  end if;
  if p_grant then
    insert into countersign_data.allowed_function (function, signature) select f, f::regprocedure::text from unnest(v_functions) f on conflict do nothing;
  else
    delete from countersign_data.allowed_function a where a.function = any(v_functions);
  end if;
  perform countersign.record_policy(format('%s function %s', case when p_grant then 'allow' else 'revoke' end, p_name));
  return countersign_data.outcome_ok(format('%s %s function(s) named %s.', case when p_grant then 'Allowed' else 'Revoked' end, cardinality(v_functions), p_name));
end
$$;
comment on function countersign.change_allowed_function(boolean, text) is 'Administrator: which functions outside pg_catalog agent SQL may call.';
