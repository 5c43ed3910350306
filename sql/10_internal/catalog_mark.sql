-- Changes whenever something changes that a condition over this table could resolve to: a function, operator, cast or type
-- of the application, the table's columns, or who may read them.
create or replace function countersign_data.catalog_mark(p_relation oid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select concat_ws(' ',
      (select c.xmin::text || '/' || (select n.xmin from pg_namespace n where n.oid = c.relnamespace) from pg_class c where c.oid = p_relation),
      (select sum(a.xmin::text::bigint) from pg_attribute a where a.attrelid = p_relation),
      (select count(*) || '/' || sum(p.xmin::text::bigint) from pg_proc p where p.oid >= 16384),
      (select count(*) || '/' || sum(o.xmin::text::bigint) from pg_operator o where o.oid >= 16384),
      (select count(*) || '/' || sum(c.xmin::text::bigint) from pg_cast c where c.oid >= 16384),
      (select count(*) || '/' || sum(t.xmin::text::bigint) from pg_type t where t.oid >= 16384),
      (select count(*) || '/' || sum(m.xmin::text::bigint) from pg_auth_members m),
      (select count(*) || '/' || sum(f.xmin::text::bigint) from countersign_data.allowed_function f),
      (select s.search_path::text from countersign_data.setting s)));
end
$$;
comment on function countersign_data.catalog_mark(oid) is 'A mark of the catalogs, as far as the meaning of a condition over a table depends on them.';
