-- Called last, when only the commit is left: whoever previews the same condition at the same time waits for nobody's write.
create or replace function countersign_data.remember_condition(p_relation oid, p_condition text, p_mark text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (select count(*) from countersign_data.known_condition) < 1000 then
    insert into countersign_data.known_condition (relation, condition, mark)
    values (p_relation, sha256(convert_to(p_condition, 'UTF8')), p_mark)
    on conflict (relation, condition) do update set mark = excluded.mark;
  end if;
exception when lock_not_available then
  null;  -- somebody else is remembering it in a transaction that goes on
end
$$;
comment on function countersign_data.remember_condition(oid, text, text) is 'Remembers that a condition was found harmless under a mark of the catalogs.';
