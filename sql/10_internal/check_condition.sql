-- Resolving costs more than all the rest of a small preview, and agents repeat themselves: what was found harmless is
-- remembered, as long as nothing has changed that it could resolve to. What reads other relations is judged every time.
create or replace function countersign_data.check_condition(p_plan countersign_data.plan, out refusal countersign.outcome, out mark text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_condition constant bytea := sha256(convert_to(p_plan.where_sql, 'UTF8'));
  v_mark constant text := countersign_data.catalog_mark(p_plan.relation);
  v_facts jsonb;
begin
  if exists (select from countersign_data.known_condition k where k.relation = p_plan.relation and k.condition = v_condition and k.mark = v_mark) then
    return;
  end if;

  refusal := countersign_data.check_fragment(p_plan.where_sql);
  if refusal.code is not null then
    return;
  end if;
  v_facts := countersign_exec.resolve(format(E'%s where (%s\n)', p_plan.target, p_plan.where_sql));
  refusal := countersign_data.judge_resolved(v_facts || jsonb_build_object('text', p_plan.where_sql), true);
  if refusal.code is null and not exists (select from jsonb_array_elements_text(v_facts->'relids') r where r.value::oid <> p_plan.relation)
     and not exists (select from jsonb_array_elements_text((v_facts->'functions') || (v_facts->'operators') || (v_facts->'types')) o where o.value::bigint >= 16384) then
    mark := v_mark;
  end if;
end
$$;
comment on function countersign_data.check_condition(countersign_data.plan) is 'The refusal a condition deserves, or null: one expression that calls and reads only what agents may. mark: set when that is worth remembering.';
