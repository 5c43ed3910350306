-- The one place where a write's SQL is built, for preview and execution alike. One pass of the statement gives count,
-- digest, marks and sample. Before images: RETURNING old on 18, a FOR UPDATE scan joined by ctid before (D014).
-- The agent's text stands in it once, between parentheses that check_fragment has proved it cannot leave.
create or replace function countersign_data.dml_sql(p_plan countersign_data.plan, out probe text, out statement text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name constant text := countersign_data.qualified_name(p_plan.relation);
  v_where constant text := coalesce(p_plan.where_sql, 'true') || E'\n';
  v_old_returning constant boolean := current_setting('server_version_num')::integer >= 180000;
  v_first_value constant integer := jsonb_array_length(p_plan.params) - cardinality(p_plan.columns);
  v_cap constant bigint := countersign_data.policy_number('hard_max_rows', p_plan.relation) + 1;
  v_cols record;
  v_rows text;
begin
  -- b1, b2 … are the columns before, a1, a2 … after; n numbers the columns the writer may read
  with col as (
    select a.attname::text as name, quote_ident(a.attname) as ident, a.atttypid as type, format_type(a.atttypid, a.atttypmod) as type_name,
           row_number() over (order by a.attnum) as n,
           a.attname::text = any(p_plan.columns) as is_set,
           has_column_privilege('countersign_reader', p_plan.relation, a.attnum, 'SELECT') as is_shown,
           countersign_data.default_calls_application(p_plan.relation, a.attnum) as is_computed,
           array_position((select i.indkey::smallint[] from pg_index i where i.indrelid = p_plan.relation and i.indisprimary), a.attnum) as key_place
    from pg_attribute a
    where a.attrelid = p_plan.relation and a.attnum > 0 and not a.attisdropped
      and has_column_privilege('countersign_writer', p_plan.relation, a.attnum, 'SELECT')
  ), cut as (
    select *, case when p_plan.kind = 'insert' then 'a' else 'b' end || n as seen from col
  )
  select
    string_agg(format('%s as b%s', ident, n), ', ') as delete_list,
    string_agg(format('countersign_old.%s as b%s, countersign_new.%s as a%s', ident, n, ident, n), ', ') as update_list,
    string_agg(format('countersign_old.b%s, countersign_new.%s as a%s', n, ident, n), ', ') as joined_list,
    string_agg(format('%s as a%s', ident, n), ', ') as insert_list,
    'row(' || string_agg('b' || n, ', ' order by n) || ')::text' as before_image,
    'row(' || string_agg('a' || n, ', ' order by n) filter (where is_set or (is_computed and p_plan.kind = 'insert')) || ')::text' as after_image,
    -- a primary key names a row only when the agent may see all of it
    case when bool_and(is_shown) filter (where key_place is not null)
           and count(key_place) = (select i.indnkeyatts from pg_index i where i.indrelid = p_plan.relation and i.indisprimary)
         then string_agg(format('%L || %s::text', name || '=', seen), ' || '', '' || ' order by key_place) filter (where key_place is not null) end as key,
    'jsonb_build_object(' || string_agg(format('%L, %s', name, countersign_data.shown_value('b' || n, type)), ', ' order by n) filter (where is_shown and n <= 40) || ')' as before_json,
    'jsonb_build_object(' || string_agg(format('%L, %s', name, countersign_data.shown_value('a' || n, type)), ', ' order by n) filter (where is_shown and n <= 40) || ')' as after_json
  into v_cols
  from cut;

  if p_plan.kind = 'insert' then
    select format('insert into %s (%s) select %s from jsonb_to_recordset($1) as countersign_input(%s) returning %s', v_name,
             string_agg(quote_ident(c.name), ', ' order by c.n), string_agg('countersign_input.' || quote_ident(c.name), ', ' order by c.n),
             string_agg(quote_ident(c.name) || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by c.n), coalesce(v_cols.insert_list, '1 as one'))
    into v_rows
    from unnest(p_plan.columns) with ordinality as c(name, n)
    join pg_attribute a on a.attrelid = p_plan.relation and a.attname::text = c.name and a.attnum > 0;
  else
    probe := format('select count(*) as n from (select 1 from %s where (%s) limit %s) as countersign_probe', v_name, v_where, v_cap);
  end if;

  if p_plan.kind = 'delete' then
    v_rows := format('delete from %s where (%s) returning %s', v_name, v_where, coalesce(v_cols.delete_list, '1 as one'));
  elsif p_plan.kind = 'update' then
    v_rows := (select string_agg(format('%I = $%s', c.name, v_first_value + c.n), ', ' order by c.n)
               from unnest(p_plan.columns) with ordinality as c(name, n));
    if v_cols.update_list is null then
      v_rows := format('update %s set %s where (%s) returning 1 as one', v_name, v_rows, v_where);
    elsif v_old_returning then
      v_rows := format('update %s set %s where (%s) returning with (old as countersign_old, new as countersign_new) %s', v_name, v_rows, v_where, v_cols.update_list);
    else
      v_rows := format('update %s as countersign_new set %s from countersign_old where countersign_new.ctid = countersign_old.countersign_ctid '
                    || 'and countersign_new.tableoid = countersign_old.countersign_table returning %s', v_name, v_rows, v_cols.joined_list);
    end if;
  end if;

  statement := format('with %scountersign_rows as (%s), '
      || 'countersign_hashed as (select *, %s as mark_key, sha256(convert_to(%s || ''/'' || %s, ''UTF8'')) as hash from countersign_rows), '
      || 'countersign_ranked as (select *, row_number() over (order by hash) as place from countersign_hashed) '
      || 'select count(*) as affected, sha256(coalesce(string_agg(hash, ''''::bytea order by place), '''')) as digest, '
      || 'array_agg(coalesce(mark_key, ''row '' || left(encode(hash, ''hex''), 12)) || ''|'' || left(encode(hash, ''hex''), 16)) as marks, '
      || 'jsonb_agg(jsonb_build_object(''key'', mark_key, ''before'', %s, ''after'', %s) order by place) filter (where place <= %s) as sample '
      || 'from countersign_ranked',
    case when p_plan.kind = 'update' and not v_old_returning and v_cols.update_list is not null
         then format('countersign_old as (select ctid as countersign_ctid, tableoid as countersign_table, %s from %s where (%s) for update), ', v_cols.delete_list, v_name, v_where)
         else '' end,
    v_rows,
    coalesce(v_cols.key, 'null::text'),
    case when p_plan.kind = 'insert' then '''''' else coalesce(v_cols.before_image, '''''') end,
    case when p_plan.kind = 'delete' then '''''' else coalesce(v_cols.after_image, '''''') end,
    case when p_plan.kind = 'insert' then 'null' else coalesce(v_cols.before_json, 'null') end,
    case when p_plan.kind = 'delete' then 'null' else coalesce(v_cols.after_json, 'null') end,
    least(countersign_data.policy_number('sample_rows', p_plan.relation), 100));
end
$$;
comment on function countersign_data.dml_sql(countersign_data.plan) is 'SQL of a write: the read-only probe that counts up to the cap, and the statement that runs, counts, samples and hashes in one pass.';
