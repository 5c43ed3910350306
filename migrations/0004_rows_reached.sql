-- Up Migration

-- Rows that a cascade reaches are compared row by row, not only counted: two more statements a plan runs before its own.
alter table countersign_data.plan add column run_locks text[], add column run_reached text;
comment on column countersign_data.plan.run_locks is 'Lock the rows the statement will change and those it reaches, a statement a level. run_reached: reads these.';

-- A session's chain is its pid as a uuid, whose version is 0: no token may look like one.
alter table countersign_data.plan add constraint plan_token_is_no_session_chain check (substr(token::text, 15, 1) <> '0');
alter table countersign_data.event add constraint event_of_plan_is_in_no_session_chain check (plan_token is null or substr(plan_token::text, 15, 1) <> '0');
drop function if exists countersign_exec.run_dml(text, text, jsonb, bigint, bytea, jsonb);

-- What the order of sample rows depends on besides the rows: whoever words the statement does not know it.
alter table countersign_data.setting add column sample_seed bigint not null default (random() * 9e18)::bigint;
comment on column countersign_data.setting.sample_seed is 'Seed of the hash by which sample rows are drawn.';

-- A statement is known again by what it would do, too.
create index plan_rejected_by_effect on countersign_data.plan (relation, digest) where state = 'rejected';

-- What a login changed without a human, and what it still may: read with every preview, so by indexes that hold the figures.
drop index countersign_data.plan_ungated_by_login;
create index plan_ungated_spent on countersign_data.plan (login, created_at) include (total_rows)
  where gate = '{}' and total_rows > 0 and state in ('executing', 'executed', 'undone');
create index plan_ungated_open on countersign_data.plan (login, expires_at) include (total_rows, token, created_at)
  where gate = '{}' and total_rows > 0 and (state = 'previewed' or (kind = 'host' and state = 'failed'));
