-- Up Migration

-- Countersign's state. Tables are history: they change only by a further migration, never by an edit of this one.
-- Everything that can be written again lives in sql/ and is re-applied whole on every install.

create schema if not exists countersign;
create schema if not exists countersign_data;
create schema if not exists countersign_exec;
create schema if not exists countersign_scratch;

comment on schema countersign is 'The API: functions and views. No tables.';
comment on schema countersign_data is 'Tables, triggers and helpers. Nobody but owner and engine has USAGE.';
comment on schema countersign_exec is 'The functions that touch agent SQL. Only the engine has USAGE, not even their owners.';
comment on schema countersign_scratch is 'Always empty: the analyst creates a view here to let Postgres resolve agent SQL, and rolls it back.';

create type countersign.outcome as (ok boolean, code text, message text, hint text, detail jsonb);
comment on type countersign.outcome is
  'What every API call answers: ok, or a code with what happened (message) and the next thing to do (hint). Refusals are returned, not raised, so that their event commits.';

-- The states a plan may take, and by which event. An event that is not in this table cannot be inserted.
create table countersign_data.transition (
  from_state text not null,
  to_state   text not null,
  status     text not null,
  constraint transition_is_listed_once primary key (from_state, to_state, status)
);
comment on table countersign_data.transition is 'Legal moves of the state machine: (from, to) and the status of the event that makes the move.';

insert into countersign_data.transition (from_state, to_state, status) values
  ('new',               'previewed',         'previewed'),
  ('new',               'awaiting_approval', 'awaiting_approval'),
  ('awaiting_approval', 'awaiting_approval', 'approved'),       -- one of several required approvals
  ('awaiting_approval', 'approved',          'approved'),
  ('previewed',         'executing',         'executing'),
  ('approved',          'executing',         'executing'),
  ('executing',         'executed',          'executed'),
  ('executing',         'failed',            'failed'),
  ('failed',            'executing',         'executing'),      -- hosts only, see event_retries_only_host_plans
  ('executed',          'undone',            'undone'),
  ('previewed',         'rejected',          'rejected'),
  ('awaiting_approval', 'rejected',          'rejected'),
  ('approved',          'rejected',          'rejected'),
  ('previewed',         'expired',           'expired'),
  ('awaiting_approval', 'expired',           'expired'),
  ('approved',          'expired',           'expired'),
  ('previewed',         'stale',             'stale'),
  ('awaiting_approval', 'stale',             'stale'),
  ('approved',          'stale',             'stale'),
  ('none',              'none',              'read'),
  ('none',              'none',              'refused'),
  ('none',              'none',              'hard_cap_refused'),
  ('none',              'none',              'policy');

insert into countersign_data.transition (from_state, to_state, status)
select s, s, 'refused'                                           -- a refused call moves nothing and is still an event
from unnest(array['previewed', 'awaiting_approval', 'approved', 'executing', 'executed', 'failed',
                  'rejected', 'expired', 'stale', 'undone']) as s
union all
select s, s, 'hard_cap_refused'                                  -- the cap was lowered since the preview
from unnest(array['previewed', 'approved']) as s;

-- The truth. A chain is one plan (chain = its token), or, for events without a plan, one backend (chain made of its
-- pid, so that concurrent sessions never wait for each other).
create table countersign_data.event (
  id              bigint generated always as identity,
  ts              timestamptz not null default clock_timestamp(),
  chain           uuid not null,
  seq             integer not null,
  prev_seq        integer,
  prev_hash       bytea,
  plan_token      uuid,
  from_state      text not null,
  to_state        text not null,
  status          text not null,
  code            text,
  tool            text,
  reason          text,
  statement       text,
  params_redacted jsonb,
  preview_rows    bigint,
  actual_rows     bigint,
  approved_by     text,
  channel         text not null,
  login           name not null default session_user,
  caller_id       text,
  duration_ms     integer,
  effects         jsonb,
  note            text,
  hash            bytea not null,
  constraint event_is_identified primary key (id),
  constraint event_has_one_place_in_its_chain unique (chain, seq),
  constraint event_can_be_followed unique (chain, seq, hash, to_state),
  constraint event_follows_the_previous_one foreign key (chain, prev_seq, prev_hash, from_state)
    references countersign_data.event (chain, seq, hash, to_state),
  constraint event_is_a_legal_move foreign key (from_state, to_state, status) references countersign_data.transition,
  constraint event_first_has_no_previous check ((seq = 1) = (prev_seq is null)),
  constraint event_is_next check (prev_seq is null or prev_seq = seq - 1),
  constraint event_previous_is_whole check ((prev_seq is null) = (prev_hash is null)),
  constraint event_begins_plan_with_new check ((from_state = 'new') = (seq = 1 and plan_token is not null)),
  constraint event_of_plan_is_in_its_chain check (plan_token is null or plan_token = chain),
  constraint event_without_plan_has_no_state check ((plan_token is null) = (to_state = 'none')),
  constraint event_refusal_has_code check ((code is not null) = (status in ('refused', 'hard_cap_refused', 'failed', 'stale', 'expired'))),
  constraint event_hash_is_sha256 check (octet_length(hash) = 32)
);
comment on table countersign_data.event is
  'INSERT-only truth and audit trail: one row a state transition, refusal, read or policy change. Plans cache what is here.';
comment on column countersign_data.event.chain is 'The plan token, or for events without a plan the backend''s pid as a uuid.';
comment on column countersign_data.event.hash is 'sha256 over the row and the previous hash; set by trigger, see event_is_chained.';
comment on column countersign_data.event.login is 'session_user: the database identity, which no client setting can change.';
comment on column countersign_data.event.params_redacted is 'Shape of the parameters ({type, length}), never their values.';
comment on column countersign_data.event.note is 'A human''s words on a decision, or Postgres''s primary message of a failure.';
create index event_by_time on countersign_data.event (ts);

-- One proposed change. Immutable but for the state columns, which must always name an event that happened.
create table countersign_data.plan (
  token         uuid not null default gen_random_uuid(),
  kind          text not null,
  tool          text not null,
  login         name not null default session_user,
  caller_id     text,
  reason        text,
  relation      oid,
  target        text,
  where_sql     text,
  columns       text[],
  statement     text not null,
  params        jsonb not null default '[]',
  fingerprint   bytea not null,
  affected_rows bigint not null,
  total_rows    bigint not null,
  effects       jsonb not null,
  digest        bytea,
  row_marks     text[],
  run_probe     text,
  run_statement text,
  shown         jsonb not null,
  gate          text[] not null,
  required_approvals integer not null,
  created_at    timestamptz not null default clock_timestamp(),
  state         text not null,
  state_seq     integer not null,
  state_hash    bytea not null,
  expires_at    timestamptz not null,
  constraint plan_is_identified_by_token primary key (token),
  constraint plan_state_is_an_event foreign key (token, state_seq, state_hash, state)
    references countersign_data.event (chain, seq, hash, to_state),
  constraint plan_kind_is_known check (kind in ('insert', 'update', 'delete', 'migration')),
  constraint plan_expires_after_creation check (expires_at > created_at),
  constraint plan_changes_rows_of_a_relation check ((kind = 'migration') = (relation is null)),
  constraint plan_requires_an_approver check (required_approvals >= 1),
  constraint plan_counts_are_not_negative check (affected_rows >= 0 and total_rows >= 0)
);
comment on table countersign_data.plan is 'A proposed change, measured. Only the state columns ever change, and only to an event that happened.';
comment on column countersign_data.plan.effects is 'Raw measurement: relation oid -> [inserted, updated, deleted]; for a migration the catalog difference.';
comment on column countersign_data.plan.digest is 'sha256 over the ordered sha256 of each row image; compared at execution.';
comment on column countersign_data.plan.row_marks is 'key|short hash of each row, so that ROWSET_CHANGED can name what changed.';
comment on column countersign_data.plan.run_statement is 'The SQL that was measured and will be run: built once, from the parts above. run_probe: its read-only count.';
comment on column countersign_data.plan.shown is 'What agent and human are shown: sample, changes, effects by name, undo, triggers.';
comment on column countersign_data.plan.gate is 'Why a human must decide; empty when the plan may run at once.';
create index plan_waiting on countersign_data.plan (created_at) where state in ('awaiting_approval', 'executing');
create index plan_ungated_by_login on countersign_data.plan (login, created_at) where gate = '{}' and total_rows > 0;

create table countersign_data.tombstone (
  plan_token  uuid not null,
  fingerprint bytea not null,
  rejected_by name not null default session_user,
  reason      text,
  ts          timestamptz not null default clock_timestamp(),
  constraint tombstone_marks_one_plan primary key (plan_token)
);
comment on table countersign_data.tombstone is 'Permanent record that a human rejected a plan; outlives the plan. The same statement is gated for ever.';
create index tombstone_by_fingerprint on countersign_data.tombstone (fingerprint);

create table countersign_data.requester (
  login name not null,
  constraint requester_is_a_login primary key (login)
);
comment on table countersign_data.requester is 'One row a login that ever previewed; locked while its hourly budget is judged, so that two previews cannot both be the last one.';

create table countersign_data.policy_key (
  key           text not null,
  default_value text not null,
  kind          text not null,
  meaning       text not null,
  constraint policy_key_is_named_once primary key (key),
  constraint policy_key_kind_is_known check (kind in ('integer', 'interval'))
);
comment on table countersign_data.policy_key is 'The policy keys there are, their defaults and what they mean.';
insert into countersign_data.policy_key (key, default_value, kind, meaning) values
  ('approval_required_above_rows', '100',   'integer',  'total rows changed in all tables; above it the plan waits for a human'),
  ('hard_max_rows',                '10000', 'integer',  'above it: refused, no token, no approval path'),
  ('ungated_rows_per_hour',        '1000',  'integer',  'sum over one login''s ungated plans; above it the next one waits for a human'),
  ('required_approvals',           '1',     'integer',  'distinct approvers needed'),
  ('plan_ttl',                     '10 minutes', 'interval', 'life of an ungated plan'),
  ('approval_ttl',                 '24 hours',   'interval', 'life of a plan that waits'),
  ('statement_timeout',            '10 seconds', 'interval', 'longest preview or execution'),
  ('lock_timeout',                 '2 seconds',  'interval', 'longest wait for a lock'),
  ('sample_rows',                  '10',    'integer',  'rows shown in a preview'),
  ('undo_retention',               '30 days',    'interval', 'how long row images are kept');

create table countersign_data.policy_row (
  key   text not null,
  scope text not null,
  scope_oid oid not null default 0,
  value text not null,
  constraint policy_row_is_set_once primary key (key, scope, scope_oid),
  constraint policy_row_key_exists foreign key (key) references countersign_data.policy_key,
  constraint policy_row_scope_is_known check (scope in ('database', 'schema', 'table')),
  constraint policy_row_scope_has_object check ((scope = 'database') = (scope_oid = 0))
);
comment on table countersign_data.policy_row is 'Policy as set by an administrator; the most specific scope wins. scope_oid: pg_namespace or pg_class.';

create table countersign_data.allowed_function (
  function   oid not null,
  signature  text not null,
  allowed_by name not null default session_user,
  allowed_at timestamptz not null default clock_timestamp(),
  constraint allowed_function_is_listed_once primary key (function)
);
comment on table countersign_data.allowed_function is 'Functions outside pg_catalog that an administrator allows in agent SQL, by name.';

create unlogged table countersign_data.known_condition (
  relation  oid not null,
  condition bytea not null,
  mark      text not null,
  constraint known_condition_is_remembered_once primary key (relation, condition)
);
comment on table countersign_data.known_condition is
  'Conditions (sha256) that were resolved and found harmless: only pg_catalog functions, only the table itself. Valid while the catalogs bear the same mark; a cache, emptied by every install.';

create table countersign_data.setting (
  search_path text[] not null,
  only_row    boolean not null default true,
  constraint setting_is_one_row primary key (only_row),
  constraint setting_only_row_is_true check (only_row),
  constraint setting_search_path_names_schemas check (cardinality(search_path) > 0)
);
comment on table countersign_data.setting is 'What install was told about this database: the application''s search path.';
insert into countersign_data.setting (search_path) values (array['public']);
