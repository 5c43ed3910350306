-- Up Migration

-- Plans of hosts: programs that gate side effects outside Postgres. Their statement is the payload as canonical JSON
-- (RFC 8785), their counts are the host's own, and they stay executing until somebody says how it ended.

alter table countersign_data.plan
  add column data_digest text,
  add column plan_ttl interval,
  add column approval_ttl interval,
  drop constraint plan_kind_is_known,
  drop constraint plan_changes_rows_of_a_relation;
alter table countersign_data.plan
  add constraint plan_kind_is_known check (kind in ('insert', 'update', 'delete', 'migration', 'host')),
  add constraint plan_changes_rows_of_a_relation check ((kind in ('migration', 'host')) = (relation is null)),
  add constraint plan_of_a_host_is_not_run_here check (case when kind = 'host' then run_statement is null and run_probe is null and digest is null
    else data_digest is null and plan_ttl is null and approval_ttl is null end);
comment on column countersign_data.plan.statement is 'The statement; of a host plan the payload, as canonical JSON.';
comment on column countersign_data.plan.data_digest is 'Host''s digest of the data the plan rests on; must be presented again when it begins.';
comment on column countersign_data.plan.plan_ttl is 'Host''s own, shorter life of a plan that may run; policy still bounds it. approval_ttl: of one that waits.';

-- A host plan that failed may be begun again. Until then a human may still refuse it, and its time may run out.
insert into countersign_data.transition (from_state, to_state, status) values
  ('failed', 'rejected', 'rejected'),
  ('failed', 'expired',  'expired'),
  ('failed', 'failed',   'hard_cap_refused');

-- What a login may still begin, by the time it runs out: for sweep, and for the rows it may still change ungated.
create index plan_open on countersign_data.plan (login, expires_at)
  where state in ('previewed', 'awaiting_approval', 'approved') or (kind = 'host' and state = 'failed');
