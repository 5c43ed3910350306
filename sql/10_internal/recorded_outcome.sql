create or replace function countersign_data.recorded_outcome(p_token uuid)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object('status', e.to_state, 'at', e.ts, 'code', e.code, 'affected_rows', e.actual_rows, 'message', e.note)
      -- an event repeats what was previewed; only of an execution that stayed is it what was done
      || case when e.status = 'executed' and e.effects is not null then jsonb_build_object('effects', e.effects, 'total_rows', (
           select coalesce(sum((x->>'inserted')::bigint + (x->>'updated')::bigint + (x->>'deleted')::bigint), 0) from jsonb_array_elements(e.effects) x))
         else '{}' end)
    from countersign_data.event e
    where e.chain = p_token and e.status in ('executed', 'failed', 'stale')
    order by e.seq desc
    limit 1);
end
$$;
comment on function countersign_data.recorded_outcome(uuid) is 'What came of an execution, from its event; null before there was one.';
