create or replace function countersign_data.recorded_approvals(p_token uuid)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('by', e.approved_by, 'reported_by', e.reported_by, 'at', e.ts, 'note', e.note, 'channel', e.channel) order by e.seq), '[]')
    from countersign_data.event e
    where e.chain = p_token and e.status = 'approved');
end
$$;
comment on function countersign_data.recorded_approvals(uuid) is 'Who approved a plan so far, from its events.';
