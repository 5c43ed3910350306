-- Up Migration

-- What the approval page adds: who a decision's surface says decided (beside the database identity, never instead of it),
-- and the indexes that keep its lists and its look-back fast.

-- Null in every older event, and event_digest leaves nulls out: no old hash changes.
alter table countersign_data.event add column reported_by text;
comment on column countersign_data.event.reported_by is
  'Who decided, in the words of the surface that carried the decision; self-reported. approved_by and login are the database identity.';

create index plan_waiting_until on countersign_data.plan (expires_at) where state = 'awaiting_approval';
create index plan_history_newest_first on countersign_data.plan (created_at, token) where state not in ('awaiting_approval', 'executing');
create index plan_by_fingerprint on countersign_data.plan (fingerprint, created_at);

-- They gained two arguments: replaced by sql/40_api and sql/10_internal.
drop function if exists countersign.approve(text, text, text);
drop function if exists countersign.reject(text, text, text);
drop function if exists countersign_data.decide(text, text, text, text);
