-- A human rejects a proposal, not a token: the same statement (by fingerprint), or another one that would do the very same to
-- the very same rows (by digest). p_since: only what was rejected later than that.
create or replace function countersign_data.rejection_of_like(p_plan countersign_data.plan, p_since timestamptz)
returns countersign_data.tombstone
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select row(x.*)::countersign_data.tombstone
    from (select t.* from countersign_data.tombstone t where t.fingerprint = p_plan.fingerprint
          union all
          select t.* from countersign_data.plan q join countersign_data.tombstone t on t.plan_token = q.token
          where q.state = 'rejected' and q.relation = p_plan.relation and q.digest = p_plan.digest and q.kind = p_plan.kind and p_plan.affected_rows > 0) x
    where x.ts > p_since
    order by x.ts desc limit 1);
end
$$;
comment on function countersign_data.rejection_of_like(countersign_data.plan, timestamptz) is 'The latest rejection of a plan that proposes the same, or null.';
