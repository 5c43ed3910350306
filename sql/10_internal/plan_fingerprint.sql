-- What makes two plans the same proposal. White space, comments and the case of names do not tell statements apart, so
-- that a rejected one does not come back in other clothes; tokens are joined by what stands in none of them. Values count as
-- the text that is bound: true and "true", 1 and "1" are the same.
create or replace function countersign_data.plan_fingerprint(p_plan countersign_data.plan)
returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a statement says itself what it does, a payload only together with the tool that takes it
  if p_plan.kind = 'host' then
    return sha256(convert_to(concat_ws(E'\n', p_plan.kind, p_plan.tool, p_plan.statement), 'UTF8'));
  end if;
  -- an insert is its rows by column: the order in which they are listed does not matter
  if p_plan.kind = 'insert' then
    return sha256(convert_to(concat_ws(E'\n', p_plan.kind, p_plan.target,
      (select jsonb_agg((select jsonb_object_agg(v.key, case when jsonb_typeof(v.value) in ('array', 'object') then v.value else to_jsonb(v.value #>> '{}') end) from jsonb_each(r.value) v) order by r.ordinality)
       from jsonb_array_elements(countersign_data.bound_params(p_plan)->0) with ordinality r)::text), 'UTF8'));
  end if;
  return sha256(convert_to(concat_ws(E'\n', p_plan.kind,
    (select string_agg(left(t.kind, 1) || t.token, E'\x1f' order by t.place) from countersign_data.statement_tokens(p_plan.statement) t where t.kind <> 'comment'),
    (select jsonb_agg(case when jsonb_typeof(p.value) in ('array', 'object') then p.value else to_jsonb(p.value #>> '{}') end order by p.ordinality)
     from jsonb_array_elements(p_plan.params) with ordinality p)::text), 'UTF8'));
end
$$;
comment on function countersign_data.plan_fingerprint(countersign_data.plan) is 'sha256 of what a plan proposes, the same for statements that differ in white space, comments or the case of names only.';
