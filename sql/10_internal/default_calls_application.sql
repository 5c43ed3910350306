create or replace function countersign_data.default_calls_application(p_relation oid, p_attnum smallint)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from pg_attrdef d
    join pg_depend p on p.classid = 'pg_attrdef'::regclass and p.objid = d.oid and p.refclassid = 'pg_proc'::regclass
    where d.adrelid = p_relation and d.adnum = p_attnum)
$$;
comment on function countersign_data.default_calls_application(oid, smallint) is
  'Whether a column''s default calls a function outside pg_catalog: its result is then compared at execution (now(), nextval() and the like are not, they differ by nature).';
