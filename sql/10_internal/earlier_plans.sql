-- The same statement with the same parameters, asked for before: what became of it. A rejection outlives its plan.
create or replace function countersign_data.earlier_plans(p_plan countersign_data.plan)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('plan_token', x.token, 'status', x.status, 'at', x.at, 'by', x.by, 'note', x.note, 'requested_by', x.requested_by) order by x.at desc), '[]')
    from (
      select q.token, case when q.state in ('previewed', 'awaiting_approval', 'approved') and clock_timestamp() >= q.expires_at then 'expired' else q.state end as status,
             e.ts as at, coalesce(d.approved_by, case when e.status = 'rejected' then e.approved_by end) as by, d.note, q.login::text as requested_by
      from countersign_data.plan q
      join countersign_data.event e on e.chain = q.token and e.seq = q.state_seq
      left join lateral (select d.approved_by, d.note from countersign_data.event d
                         where d.chain = q.token and d.status in ('approved', 'rejected') order by d.seq desc limit 1) d on true
      where q.fingerprint = p_plan.fingerprint and q.token <> p_plan.token and q.created_at < p_plan.created_at
      union all
      select t.plan_token, 'rejected', t.ts, t.rejected_by::text, t.reason, null
      from countersign_data.tombstone t
      where t.fingerprint = p_plan.fingerprint and not exists (select from countersign_data.plan q where q.token = t.plan_token)
      order by 3 desc
      limit 6) x);
end
$$;
comment on function countersign_data.earlier_plans(countersign_data.plan) is 'Up to six earlier plans of the same statement and parameters, the newest first, with what a human said.';
