-- A wake-up, not a message: the payload names a plan by a hash of its token, and whoever wakes re-reads. Only decision
-- events notify; they never share a transaction with application data (an execution writes none of them).
create or replace function countersign_data.decision_is_announced()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Transactions that notify commit one after the other, each with its own wait for the disk. A program that makes many
  -- says that it will announce them itself, in a transaction that has nothing to wait for. It can lose a wake-up so, no more.
  if current_setting('countersign.announce', true) = 'later' then
    return null;
  end if;
  -- a full queue fails the commit of whoever notifies: then rather no wake-up than no decision (who waits re-reads)
  if pg_notification_queue_usage() < 0.9 then
    execute format('notify countersign, %L', countersign_data.notice_of(new.plan_token, new.status));
  end if;
  return null;
end
$$;
comment on function countersign_data.decision_is_announced() is 'NOTIFY for those who wait: pages on new plans, agents on decisions.';

create or replace trigger _20_decision_is_announced
after insert on countersign_data.event
for each row when (new.plan_token is not null and new.status in ('awaiting_approval', 'approved', 'rejected'))
execute function countersign_data.decision_is_announced();
