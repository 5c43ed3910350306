create or replace function countersign_data.refusal_over_cap(p_relation oid, p_rows bigint, p_cap bigint, p_effects jsonb)
returns countersign.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select countersign_data.outcome_refused('HARD_MAX_ROWS_EXCEEDED',
      format('The statement would change %s rows of %s and what depends on it; the hard cap is %s. Nothing was changed and no plan was made.',
        case when p_effects is null then 'more than ' || p_cap else p_rows::text end, countersign_data.qualified_name(p_relation), p_cap),
      'Split the work into narrower conditions, each below the cap. No human can approve more than the cap; only an administrator can raise hard_max_rows.',
      jsonb_strip_nulls(jsonb_build_object('hard_max_rows', p_cap, 'rows_at_least', p_rows, 'effects', p_effects))));
end
$$;
comment on function countersign_data.refusal_over_cap(oid, bigint, bigint, jsonb) is 'The refusal for a statement above the hard cap; effects null: it was stopped by the probe, before it wrote anything.';
