create or replace function countersign.show(p_token text)
returns table (field text, value text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set bytea_output = 'hex'
set plan_cache_mode = force_generic_plan
set quote_all_identifiers = off
set jit = off
as $$
declare
  v_plan jsonb := countersign.plan_detail(p_token);
begin
  if v_plan is null then
    return query values ('error', 'UNKNOWN_TOKEN: there is no such plan, or several begin so.'), ('hint', 'select * from countersign.pending;');
    return;
  end if;
  return query
  select f.field, countersign_data.wrapped(countersign_data.visible_text(f.value), 60)
  from (
    select f.place, 0 as nth, f.field, f.value
    from (values
      (1, 'plan', v_plan->>'plan_token'),
      (2, 'state', v_plan->>'status'),
      (3, 'target', coalesce(v_plan->>'target', case v_plan->>'kind' when 'host' then 'outside the database: ' || (v_plan->>'tool') else '(schema)' end) || case when (v_plan->>'whole_table')::boolean then '   WHOLE TABLE' else '' end),
      (4, 'count', coalesce(v_plan->>'preview_count' || ', as its host counts', case when v_plan->>'kind' = 'host' then 'its host gave none' end)),
      (4, 'rows', format('%s in %s, %s in all tables', v_plan->>'affected_rows', v_plan->>'target', v_plan->>'total_rows') || case when v_plan ? 'migration' or v_plan->>'kind' = 'host' then null else '' end),
      (6, 'why it waits', (select string_agg(g.value, E'\n') from jsonb_array_elements_text(v_plan->'gate') g)),
      (7, case when v_plan->>'kind' = 'host' then 'payload' else 'statement' end, case when v_plan->>'kind' = 'host' then countersign_data.cut(v_plan->>'statement', 20000) else v_plan->>'statement' end),
      (8, 'extra', countersign_data.cut(nullif(v_plan->'extra', 'null')::text, 2000)),
      (8, 'params', countersign_data.cut(nullif(v_plan->>'params', '[]'), 2000)),
      (10, 'locks', (select string_agg(concat_ws(' ', l.value->>'mode', 'on', l.value->>'table'), E'\n') from jsonb_array_elements(v_plan->'migration'->'locks') l)),
      (11, 'rewrites', (select string_agg(format('%s (about %s rows)', l.value->>'table', coalesce(l.value->>'rows_estimate', '?')), E'\n') from jsonb_array_elements(v_plan->'migration'->'rewrites') l)),
      (12, 'rows lost', (select string_agg(format('%s: about %s', l.value->>'object', coalesce(l.value->>'rows', '?')), E'\n') from jsonb_array_elements(v_plan->'migration'->'rows_lost_estimate') l)),
      (13, 'removed', (select string_agg('- ' || l.value, E'\n') from jsonb_array_elements_text(v_plan->'migration'->'removed') l)),
      (14, 'added', (select string_agg('+ ' || l.value, E'\n') from jsonb_array_elements_text(v_plan->'migration'->'added') l)),
      (14, 'note', (select 'belongs to countersign_migrator afterwards, so the application''s own role cannot use it until an administrator runs: '
          || string_agg(format('alter table %s owner to <role>;', o.value), ' ') from jsonb_array_elements_text(v_plan->'migration'->'owned_by_migrator') o)),
      (15, 'by count', (select 'compared by number of rows only: ' || string_agg(c.value, ', ') from jsonb_array_elements_text(v_plan->'compared_by_count_only') c)),
      (16, 'triggers', (select string_agg(concat_ws(' ', t.value->>'table', t.value->>'trigger', '->', t.value->>'function',
          case when (t.value->>'may_reach_outside')::boolean then '(MAY REACH OUTSIDE THE DATABASE)' end), E'\n') from jsonb_array_elements(v_plan->'triggers') t)),
      (17, 'undo', nullif(concat_ws(': ', v_plan->'undo'->>'kind', v_plan->'undo'->>'why'), '')),
      (18, 'asked by', concat_ws(' / ', v_plan->>'requested_by', regexp_replace(v_plan->>'caller_id', '\s+', ' ', 'g'))),
      (19, 'agent says', coalesce('(unverified) ' || countersign_data.cut(regexp_replace(v_plan->>'reason', '\s+', ' ', 'g'), 500), '(nothing)')),
      (20, 'asked at', v_plan->>'requested_at'),
      (21, 'expires at', v_plan->>'expires_at'),
      (23, 'decide', case when v_plan->>'status' = 'awaiting_approval' then
        format(E'select * from countersign.approve(%1$L, \'note\');\nselect * from countersign.reject(%1$L, \'reason\');', left(v_plan->>'plan_token', 8))
        when v_plan->>'status' = 'executing' then format(E'select * from countersign.settle(%1$L, \'done\');\nselect * from countersign.settle(%1$L, \'not-done\');', left(v_plan->>'plan_token', 8)) end)) as f(place, field, value)
    union all
    select 5, e.ordinality, 'effect', format('%s: %s inserted, %s updated, %s deleted%s', e.value->>'table', e.value->>'inserted', e.value->>'updated', e.value->>'deleted',
      case when (e.value->>'writable')::boolean then '' else ' (OUTSIDE THE ALLOWLIST)' end)
    from jsonb_array_elements(v_plan->'effects') with ordinality e
    union all
    select 9, c.ordinality, 'row', concat_ws(E'\n', c.value->>'key', '- ' || countersign_data.cut(nullif(c.value->'before', 'null')::text, 1000), '+ ' || countersign_data.cut(nullif(c.value->'after', 'null')::text, 1000))
    from jsonb_array_elements(v_plan->'changes') with ordinality c
    union all
    select 15, r.ordinality, 'reaches', format('%s rows of %s, such as', r.value->>'rows', r.value->>'table') || coalesce((
      select string_agg(E'\n- ' || countersign_data.cut(s.value::text, 300), '' order by s.ordinality) from jsonb_array_elements(r.value->'sample_rows') with ordinality s where s.ordinality <= 3), '')
    from jsonb_array_elements(v_plan->'reached') with ordinality r
    union all
    select 22, t.ordinality, 'event', concat_ws(' ', t.value->>'ts', t.value->>'status', t.value->>'code', t.value->>'by', regexp_replace(t.value->>'note', '\s+', ' ', 'g'))
    from jsonb_array_elements(v_plan->'timeline') with ordinality t) as f(place, nth, field, value)
  where f.value is not null
  order by f.place, f.nth;
end
$$;
comment on function countersign.show(text) is 'Approver: everything about one plan, readable in 80 columns; facts first, the agent''s words last and marked.';
