-- One privilege of one role on one table, wholly or by columns. What was granted before is taken back first: a grant on
-- the whole table would win over every narrower one, and a REVOKE of a column takes nothing from it.
create or replace function countersign.change_privilege(p_grant boolean, p_privilege text, p_role text, p_relation oid, p_columns text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_columns text[] := p_columns;
begin
  if not p_grant and p_columns is not null then  -- what is left of it
    v_columns := array(
      select a.attname::text from pg_attribute a
      where a.attrelid = p_relation and a.attnum > 0 and not a.attisdropped and a.attname::text <> all (p_columns)
        and has_column_privilege(p_role, p_relation, a.attnum, p_privilege)
      order by a.attnum);
  end if;
  execute format('revoke %s on %s from %I', p_privilege, p_relation::regclass, p_role);
  if p_grant and p_columns is null then
    execute format('grant %s on %s to %I', p_privilege, p_relation::regclass, p_role);
  elsif v_columns <> '{}' then
    execute format('grant %s (%s) on %s to %I', p_privilege, (select string_agg(quote_ident(c), ', ') from unnest(v_columns) c), p_relation::regclass, p_role);
  end if;
end
$$;
comment on function countersign.change_privilege(boolean, text, text, oid, text[]) is 'Administrator: gives or takes one privilege, on a table or on columns of it. Called by allow and revoke.';
