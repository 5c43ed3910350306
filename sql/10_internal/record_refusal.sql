-- A refused call leaves its event and answers the refusal: one expression for both, so that neither is forgotten.
create or replace function countersign_data.record_refusal(p_call countersign_data.event, p_refusal countersign.outcome)
returns countersign.outcome
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  p_call.status := case p_refusal.code when 'HARD_MAX_ROWS_EXCEEDED' then 'hard_cap_refused' else 'refused' end;
  p_call.code := p_refusal.code;
  p_call.note := coalesce(p_call.note, p_refusal.message);
  if p_call.plan_token is null then
    p_call.from_state := 'none';
    p_call.to_state := 'none';
  end if;
  perform countersign_data.record_event(p_call);
  return p_refusal;
end
$$;
comment on function countersign_data.record_refusal(countersign_data.event, countersign.outcome) is 'Writes the event of a refused call and hands the refusal back.';
