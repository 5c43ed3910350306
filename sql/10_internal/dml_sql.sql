-- The one place where a write's SQL is built, for preview and execution alike. One pass of the statement gives count,
-- digest, marks and sample. Before images: RETURNING old on 18; on older versions a FOR UPDATE scan joined by ctid (D014).
-- It is parsed under the application's search path, so Postgres's own functions are named in full.
-- The agent's text stands in it once, between parentheses that check_fragment has proved it cannot leave.
create or replace function countersign_data.dml_sql(p_plan countersign_data.plan, p_cap bigint, out probe text, out statement text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  c_old_returning constant boolean := current_setting('server_version_num')::numeric >= 180000;
  v_self constant text := quote_ident((select c.relname from pg_class c where c.oid = p_plan.relation));
  v_where constant text := coalesce(p_plan.where_sql, 'true') || E'\n';
  v_first_value constant integer := jsonb_array_length(p_plan.params) - cardinality(p_plan.columns);
  v_whole constant boolean := countersign_data.image_is_whole(p_plan.relation);
  v_compared text[];
  v_rows text;
begin
  if p_plan.kind <> 'insert' then
    probe := format('select pg_catalog.count(*) as n from (select 1 from %s where (%s) limit %s) as countersign_probe',
                    p_plan.target, v_where, p_cap + 1);
  end if;

  -- before is the row's image before, after the one after, each one value
  if p_plan.kind = 'delete' then
    v_rows := format('countersign_rows as (delete from %s where (%s) returning %s as before, null as after)',
                     p_plan.target, v_where, countersign_data.row_image(p_plan.relation, v_self, v_whole));
  elsif p_plan.kind = 'update' and c_old_returning then
    v_rows := format('countersign_rows as (update %s set %s where (%s) returning with (old as countersign_old, new as countersign_new) %s as before, %s as after)',
      p_plan.target, countersign_data.set_sql(p_plan.columns, v_first_value), v_where,
      countersign_data.row_image(p_plan.relation, 'countersign_old', v_whole), countersign_data.row_image(p_plan.relation, 'countersign_new', v_whole));
  elsif p_plan.kind = 'update' then
    v_rows := format('countersign_old as (select %1$s.ctid as place, %1$s.tableoid as part, %2$s as before from %3$s where (%4$s) for update of %1$s), '
        || 'countersign_rows as (update %3$s as countersign_new set %5$s from countersign_old '
        || 'where countersign_new.ctid = countersign_old.place and countersign_new.tableoid = countersign_old.part returning countersign_old.before, %6$s as after)',
      v_self, countersign_data.row_image(p_plan.relation, v_self, v_whole), p_plan.target, v_where,
      countersign_data.set_sql(p_plan.columns, v_first_value), countersign_data.row_image(p_plan.relation, 'countersign_new', v_whole));
  else
    v_rows := format('countersign_rows as (insert into %s as countersign_new (%s) select %s from pg_catalog.jsonb_to_recordset($1) as countersign_input(%s) returning null as before, %s as after)',
      p_plan.target,
      (select string_agg(quote_ident(c.name), ', ' order by c.n) from unnest(p_plan.columns) with ordinality as c(name, n)),
      (select string_agg('countersign_input.' || quote_ident(c.name), ', ' order by c.n) from unnest(p_plan.columns) with ordinality as c(name, n)),
      (select string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod), ', ') from pg_attribute a
       where a.attrelid = p_plan.relation and a.attnum > 0 and a.attname::text = any(p_plan.columns)),
      countersign_data.row_image(p_plan.relation, 'countersign_new', v_whole));
  end if;

  -- of the image after only what the statement sets is compared: a trigger that sets updated_at must not make every plan
  -- stale. Defaults that call the application's functions are compared too; now() and sequences differ by nature.
  v_compared := p_plan.columns || case when p_plan.kind = 'insert' then array(
    select a.attname::text from pg_attribute a
    where a.attrelid = p_plan.relation and a.attnum > 0 and a.atthasdef and not a.attisdropped and a.attname::text <> all (p_plan.columns)
      and countersign_data.default_calls_application(p_plan.relation, a.attnum)) end;
  v_compared := array(select c from unnest(v_compared) c where has_column_privilege('countersign_writer', p_plan.relation, c, 'SELECT'));

  statement := format('with %s, countersign_hashed as materialized (select %s as key, before, after, pg_catalog.sha256(pg_catalog.convert_to(%s, ''UTF8'')) as hash from countersign_rows) '
      || 'select pg_catalog.count(*) as affected, pg_catalog.sha256(coalesce(pg_catalog.string_agg(hash, '''' order by hash), '''')) as digest, '
      || 'pg_catalog.array_agg(coalesce(key, ''row '' || pg_catalog.left(pg_catalog.encode(hash, ''hex''), 12)) || ''|'' || pg_catalog.left(pg_catalog.encode(hash, ''hex''), 16)) as marks, '
      -- by a hash that whoever words the statement does not know, of the key rather than of values that are theirs to choose
      || '(select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(key, pg_catalog.to_jsonb(before), pg_catalog.to_jsonb(after))) from (select * from countersign_hashed order by pg_catalog.hashtextextended(coalesce(key, pg_catalog.encode(hash, ''hex'')), %s) limit %s) as countersign_sample) as sample '
      || 'from countersign_hashed',
    v_rows,
    coalesce(countersign_data.key_sql(p_plan.relation, case p_plan.kind when 'insert' then 'after' else 'before' end, v_whole), 'null::text'),
    concat_ws(' || ''/'' || ',
      case when p_plan.kind <> 'insert' then 'coalesce(before::text, '''')' end,
      case when cardinality(v_compared) > 0 and p_plan.kind <> 'delete'
           then (select 'row(' || string_agg(countersign_data.image_column('after', c, v_whole), ', ') || ')::text' from unnest(v_compared) c)
           when p_plan.kind = 'insert' then '''''' end),
    (select s.sample_seed from countersign_data.setting s), least(countersign_data.policy_number('sample_rows', p_plan.relation), 100));
end
$$;
comment on function countersign_data.dml_sql(countersign_data.plan, bigint) is 'SQL of a write: the read-only probe that counts up to the cap, and the statement that runs, counts, samples and hashes in one pass.';
