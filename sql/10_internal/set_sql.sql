create or replace function countersign_data.set_sql(p_columns text[], p_first_value integer)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select string_agg(format('%I = $%s', c.name, p_first_value + c.n), ', ' order by c.n) from unnest(p_columns) with ordinality as c(name, n));
end
$$;
comment on function countersign_data.set_sql(text[], integer) is 'The SET list: each column takes a parameter, numbered after those of the condition.';
