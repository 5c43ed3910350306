create or replace function countersign_data.recorded_decision(p_token uuid)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
  return (
    select jsonb_build_object('status', e.status, 'by', e.approved_by, 'at', e.ts, 'note', countersign_data.visible_text(e.note), 'channel', e.channel)
    from countersign_data.event e
    where e.chain = p_token and e.status in ('approved', 'rejected')
    order by e.seq desc
    limit 1);
end
$$;
comment on function countersign_data.recorded_decision(uuid) is 'The last human decision on a plan, from its event; null before there was one.';
