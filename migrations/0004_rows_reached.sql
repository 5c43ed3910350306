-- Up Migration

-- Rows that a cascade reaches are compared row by row, not only counted: two more statements a plan runs before its own.
alter table countersign_data.plan add column run_lock text, add column run_reached text;
comment on column countersign_data.plan.run_lock is 'Locks the rows the statement will change, so that no row can begin or cease to refer to them while those it reaches are read. run_reached: reads these.';
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
