-- What runs when these are used: an operator calls its function, an aggregate its support functions, a function what its
-- argument defaults (and, written in SQL, its body) name, and a conversion to a type runs the checks of its domains,
-- however deep in arrays, fields and ranges they lie. Only what the database was not born with is followed further.
create or replace function countersign_data.functions_reached(p_functions jsonb, p_operators jsonb, p_types jsonb)
returns setof oid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_types oid[] := '{}';
  v_functions oid[] := '{}';
  v_more oid[];
begin
  select array_agg(t.value::oid) into v_more from jsonb_array_elements_text(p_types) t;
  while v_more is not null loop
    v_types := v_types || v_more;
    select array_agg(distinct x.oid) into v_more
    from (select unnest(array[t.typelem, t.typbasetype]) as oid from pg_type t where t.oid = any (v_more)
          union all
          select a.atttypid from pg_type t join pg_attribute a on a.attrelid = t.typrelid where t.oid = any (v_more) and t.typrelid <> 0 and a.attnum > 0 and not a.attisdropped
          union all
          select g.rngsubtype from pg_range g where g.rngtypid = any (v_more) or g.rngmultitypid = any (v_more)) x
    where x.oid >= 16384 and x.oid <> all (v_types);
  end loop;

  select array_agg(distinct x.oid) into v_more
  from (select f.value::oid as oid from jsonb_array_elements_text(p_functions) f
        union all
        select o.oprcode::oid from pg_operator o where o.oid in (select x.value::oid from jsonb_array_elements_text(p_operators) x)
        union all
        select m[1]::oid from pg_constraint k, regexp_matches(k.conbin::text, ':(?:funcid|opfuncid) ([1-9][0-9]*)', 'g') m where k.contypid = any (v_types)
        union all
        select o.oprcode::oid from pg_constraint k, regexp_matches(k.conbin::text, ':opno ([1-9][0-9]*)', 'g') m join pg_operator o on o.oid = m[1]::oid where k.contypid = any (v_types)) x;
  while v_more is not null loop
    v_functions := v_functions || v_more;
    select array_agg(distinct x.oid) into v_more
    from (select d.refobjid as oid from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = any (v_more) and d.refclassid = 'pg_proc'::regclass
          union all
          select o.oprcode::oid from pg_depend d join pg_operator o on o.oid = d.refobjid
          where d.classid = 'pg_proc'::regclass and d.objid = any (v_more) and d.refclassid = 'pg_operator'::regclass
          union all
          select f from pg_aggregate a, unnest(array[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::oid[]) f
          where a.aggfnoid = any (v_more) and a.aggfnoid >= 16384::oid) x
    where x.oid <> 0 and x.oid <> all (v_functions);
  end loop;
  return query select distinct f from unnest(v_functions) f where f <> 0;
end
$$;
comment on function countersign_data.functions_reached(jsonb, jsonb, jsonb) is 'Every function that using these functions, operators and types may run, as far as the catalogs say.';
