create or replace function countersign_data.rows_that_differ(p_previewed text[], p_found text[])
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with previewed as (select left(m, length(m) - 17) as key, right(m, 16) as hash from unnest(p_previewed) m),
       found as (select left(m, length(m) - 17) as key, right(m, 16) as hash from unnest(p_found) m),
       gone as (select distinct key from previewed except select key from found),
       added as (select distinct key from found except select key from previewed),
       altered as (select distinct key from (select key, hash from found except select key, hash from previewed) x
                   where key in (select key from previewed))
  select jsonb_build_object(
    'rows_added', (select count(*) from added), 'rows_gone', (select count(*) from gone), 'rows_altered', (select count(*) from altered),
    'added', (select coalesce(jsonb_agg(key), '[]') from (select key from added order by key limit 10) x),
    'gone', (select coalesce(jsonb_agg(key), '[]') from (select key from gone order by key limit 10) x),
    'altered', (select coalesce(jsonb_agg(key), '[]') from (select key from altered order by key limit 10) x))
$$;
comment on function countersign_data.rows_that_differ(text[], text[]) is 'Which rows were added, gone or altered between preview and execution, up to ten of each by key.';
