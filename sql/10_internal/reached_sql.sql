-- A cascade is counted by Postgres, but counts are the same when other rows stand in the place of those a human saw. So the
-- rows that foreign keys will reach are read and hashed before the statement runs. First they are locked, the target's and then
-- level by level those that refer to it, each by a statement of its own: what another session changed meanwhile is waited for
-- and seen, and no row can be made to refer to a locked one. Rows that agents may read and not write are not locked, since no
-- agent can change them. A table that refers to itself is followed to a bound; what lies deeper, what agents may not read and
-- what triggers write is compared by count only, and so it is shown.
create or replace function countersign_data.reached_sql(p_plan countersign_data.plan, p_cap bigint, out locks text[], out reached text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  c_levels constant integer := 24;
  v_where constant text := coalesce(p_plan.where_sql, 'true') || E'\n';
  v_relations oid[] := array[p_plan.relation];
  v_deletes boolean[] := array[p_plan.kind = 'delete'];
  -- what an update changes, a level; a generated column may follow any of them
  v_columns jsonb := jsonb_build_array(to_jsonb(coalesce(p_plan.columns, '{}') || array(
    select a.attname::text from pg_attribute a where a.attrelid = p_plan.relation and a.attgenerated <> '')));
  v_locks text[] := '{}';
  v_child text;
  v_keys text[] := '{}';
  v_steps text[] := '{}';
  v_hashed text[] := '{}';
  v_first text;
  v_rows text[] := '{}';
  v_level integer := 0;
  v_next integer;
  v_key record;
begin
  if p_plan.kind = 'insert' then
    return;
  end if;
  while v_level < cardinality(v_relations) loop
    v_level := v_level + 1;
    for v_key in
      select k.conrelid, (v_deletes[v_level] and k.confdeltype = 'c') as deletes, f.names as columns, f.joined, f.referenced
      from pg_constraint k
      cross join lateral (
        select array_agg(a.attname::text) as names, array_agg(quote_ident(r.attname)) as referenced,
          string_agg(format('countersign_parent.%I operator(%I.%s) countersign_child.%I', r.attname, n.nspname, o.oprname, a.attname), ' and ') as joined,
          bool_and(has_column_privilege('countersign_writer', k.conrelid, a.attnum, 'SELECT') and a.attcollation = r.attcollation
            and exists (select from pg_attribute p where p.attrelid = v_relations[v_level] and p.attname = r.attname and has_column_privilege('countersign_writer', p.attrelid, p.attnum, 'SELECT'))) as readable,
          coalesce(bool_or(v_columns->(v_level - 1) ? r.attname::text), false) as changed
        from unnest(k.conkey, k.confkey, k.conpfeqop) as x(child, parent, operator)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = x.child
        join pg_attribute r on r.attrelid = k.confrelid and r.attnum = x.parent
        join pg_operator o on o.oid = x.operator join pg_namespace n on n.oid = o.oprnamespace) f
      where k.contype = 'f' and k.conparentid = 0 and f.readable
        -- a key may refer to a partition or to a table that inherits
        and k.confrelid in (with recursive family as (select v_relations[v_level] as oid union select i.inhrelid from pg_inherits i join family y on i.inhparent = y.oid) select y.oid from family y)
        and has_schema_privilege('countersign_writer', (select c.relnamespace from pg_class c where c.oid = k.conrelid), 'USAGE')
        and case when v_deletes[v_level] then k.confdeltype in ('c', 'n', 'd') else k.confupdtype in ('c', 'n', 'd') and f.changed end
      order by k.conrelid, k.conname
    loop
      exit when cardinality(v_relations) > c_levels;
      v_relations := v_relations || v_key.conrelid;
      v_deletes := v_deletes || v_key.deletes;
      v_columns := v_columns || jsonb_build_array(to_jsonb(v_key.columns));
      v_next := cardinality(v_relations) - 1;
      if v_level = 1 then
        v_keys := v_keys || v_key.referenced;
      end if;
      -- as a foreign key does it: the table alone, and of a partitioned one all partitions
      v_child := case (select c.relkind from pg_class c where c.oid = v_key.conrelid) when 'p' then '' else 'only ' end || countersign_data.qualified_name(v_key.conrelid);
      if has_any_column_privilege('countersign_writer', v_key.conrelid, 'UPDATE') then
        v_locks := v_locks || format('with %s select pg_catalog.count(*) from (select 1 from %s as countersign_child where exists (select from countersign_%s as countersign_parent where %s) limit %s for update) as countersign_lock',
          array_to_string('countersign_0'::text || v_steps, ', '), v_child, v_level - 1, v_key.joined, p_cap + 1);
      end if;
      v_steps := v_steps || format('countersign_%s as materialized (select %s from %s as countersign_child where exists (select from countersign_%s as countersign_parent where %s) limit %s)',
        v_next, (select string_agg(format('countersign_child.%I', a.attname), ', ' order by a.attnum) from pg_attribute a
                 where a.attrelid = v_key.conrelid and a.attnum > 0 and not a.attisdropped and has_column_privilege('countersign_writer', a.attrelid, a.attnum, 'SELECT')),
        v_child, v_level - 1, v_key.joined, p_cap + 1);
      v_rows := v_rows || format('select ''%s''::pg_catalog.oid as relation, pg_catalog.count(*) as rows, pg_catalog.string_agg(hash, '''' order by hash) as hashes, '
          || 'pg_catalog.array_agg(%s || ''|'' || pg_catalog.left(pg_catalog.encode(hash, ''hex''), 16)) as marks, '
          || '(select pg_catalog.jsonb_agg(image) from (select image from countersign_hashed_%s order by pg_catalog.hashtextextended(pg_catalog.encode(hash, ''hex''), %s) limit %s) as countersign_sample) as sample from countersign_hashed_%s',
        v_key.conrelid, countersign_data.mark_sql(v_key.conrelid), v_next, (select s.sample_seed from countersign_data.setting s),
        least(countersign_data.policy_number('sample_rows', v_key.conrelid), 100), v_next);
      v_hashed := v_hashed || format('countersign_hashed_%1$s as materialized (select pg_catalog.to_jsonb(countersign_%1$s.*) as image, pg_catalog.sha256(pg_catalog.convert_to((countersign_%1$s.*)::text, ''UTF8'')) as hash from countersign_%1$s)', v_next);
    end loop;
  end loop;
  if v_rows = '{}' then
    return;
  end if;
  v_first := format('countersign_0 as materialized (select %s from %s where (%s))', (select string_agg(distinct k, ', ') from unnest(v_keys) k), p_plan.target, v_where);
  locks := array[format('select pg_catalog.count(*) from (select 1 from %s where (%s) for update) as countersign_lock', p_plan.target, v_where)]
    || array(select replace(l.text, 'with countersign_0', 'with ' || v_first) from unnest(v_locks) with ordinality as l(text, place) order by l.place);
  reached := format('with %s, %s, %s %s', v_first, array_to_string(v_steps, ', '), array_to_string(v_hashed, ', '), array_to_string(v_rows, ' union all '));
end
$$;
comment on function countersign_data.reached_sql(countersign_data.plan, bigint) is 'SQL that locks the rows of an update or delete, and SQL that reads and hashes the rows foreign keys will reach from them; null when there are none.';
