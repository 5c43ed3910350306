-- What runs when these are used: an operator calls its function, an aggregate its support functions, a function what its
-- argument defaults (and, written in SQL, its body) name, and a conversion to a type runs the checks of its domains,
-- however deep in arrays, fields and ranges they lie. Only what the database was not born with is followed further.
create or replace function countersign_data.functions_reached(p_functions jsonb, p_operators jsonb, p_types jsonb)
returns setof oid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reached (class, oid) as (
    select 'function', f.value::oid from jsonb_array_elements_text(p_functions) f
    union
    select 'function', o.oprcode::oid from pg_operator o where o.oid in (select x.value::oid from jsonb_array_elements_text(p_operators) x)
    union
    select 'type', t.value::oid from jsonb_array_elements_text(p_types) t
    union
    select n.class, n.oid
    from reached r
    cross join lateral (
      select case d.refclassid when 'pg_proc'::regclass then 'function' else 'operator' end as class, d.refobjid as oid
      from pg_depend d
      where r.class in ('function', 'operator') and d.objid = r.oid and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass)
        and d.classid = case r.class when 'function' then 'pg_proc'::regclass else 'pg_operator'::regclass end
      union all
      select 'function', o.oprcode::oid from pg_operator o where r.class = 'operator' and o.oid = r.oid
      union all
      select 'function', f
      from pg_aggregate a, unnest(array[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::oid[]) f
      where r.class = 'function' and a.aggfnoid = r.oid
      union all
      select 'type', unnest(array[t.typelem, t.typbasetype]) from pg_type t where r.class = 'type' and t.oid = r.oid
      union all
      select 'type', a.atttypid from pg_type t join pg_attribute a on a.attrelid = t.typrelid
      where r.class = 'type' and t.oid = r.oid and t.typrelid <> 0 and a.attnum > 0 and not a.attisdropped
      union all
      select 'type', g.rngsubtype from pg_range g where r.class = 'type' and r.oid in (g.rngtypid, g.rngmultitypid)
      union all  -- a check names the functions of Postgres itself in its tree only
      select 'function', m[1]::oid from pg_constraint k, regexp_matches(k.conbin::text, ':(?:funcid|opfuncid) ([1-9][0-9]*)', 'g') m
      where r.class = 'type' and k.contypid = r.oid
      union all
      select 'operator', m[1]::oid from pg_constraint k, regexp_matches(k.conbin::text, ':opno ([1-9][0-9]*)', 'g') m
      where r.class = 'type' and k.contypid = r.oid) n
    where r.oid >= 16384)
  select distinct r.oid from reached r where r.class = 'function' and r.oid <> 0
$$;
comment on function countersign_data.functions_reached(jsonb, jsonb, jsonb) is 'Every function that using these functions, operators and types may run, as far as the catalogs say.';
