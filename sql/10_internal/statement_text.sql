create or replace function countersign_data.statement_text(p_plan countersign_data.plan)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select case p_plan.kind
      when 'delete' then format('DELETE FROM %s%s', coalesce(p_plan.target, '?'), coalesce(' WHERE (' || p_plan.where_sql || ')', ''))
      when 'update' then format('UPDATE %s SET %s%s', coalesce(p_plan.target, '?'),
        (select string_agg(format('%I = $%s', c.name, jsonb_array_length(p_plan.params) - cardinality(p_plan.columns) + c.n), ', ' order by c.n)
         from unnest(p_plan.columns) with ordinality as c(name, n)),
        coalesce(' WHERE (' || p_plan.where_sql || ')', ''))
      when 'insert' then format('INSERT INTO %s (%s) VALUES (%s)', coalesce(p_plan.target, '?'),
        (select string_agg(quote_ident(c), ', ') from unnest(p_plan.columns) c),
        (select string_agg('$' || n, ', ') from generate_series(1, cardinality(p_plan.columns)) n))
    end);
end
$$;
comment on function countersign_data.statement_text(countersign_data.plan) is 'The statement as people and agents read it. An insert is shown for one row; its params hold the rows.';
