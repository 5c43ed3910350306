/** What the server tells everybody about everything: catalogs, definitions, settings, statistics. */
import { expect } from 'vitest';
import { answered, read, story, type Attack } from './attack.js';
import { expectNoSecret } from './runner.js';

const ROWS: readonly Attack[] = [
  read('C001 C004 C005 C006 C007 C011 C012 C013', 'the system catalogs, open to everybody or not', 'NOT_READABLE', [
    'SELECT r.rolname, s.setconfig FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid=s.setrole',
    "SELECT query FROM pg_stat_activity WHERE usename<>current_user AND query<>'' LIMIT 3", 'SELECT * FROM pg_authid',
    'SELECT * FROM pg_hba_file_rules', "SELECT relname, reltuples::bigint FROM pg_class WHERE relname='secrets'",
    "SELECT most_common_vals FROM pg_stats WHERE tablename='customers' AND attname='ssn'",
    "SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE tablename='customers' AND attname='ssn'",
    'SELECT s.srvoptions, m.umoptions FROM pg_foreign_server s, pg_user_mappings m', 'SELECT rolconfig FROM pg_roles', 'TABLE pg_settings',
    'SELECT * FROM pg_shadow',
    'SELECT * FROM pg_user', 'SELECT prosrc FROM pg_proc', 'SELECT * FROM pg_catalog.pg_attribute', 'SELECT adbin FROM pg_attrdef', 'SELECT * FROM pg_policies',
    'SELECT * FROM pg_policy', 'SELECT definition FROM pg_views', 'SELECT * FROM pg_statistic', 'SELECT * FROM pg_stats_ext',
    'SELECT * FROM pg_stat_user_tables', 'SELECT * FROM pg_stat_all_tables', 'SELECT * FROM pg_locks', 'SELECT * FROM pg_prepared_statements',
    'SELECT * FROM pg_cursors', 'SELECT * FROM pg_description', 'SELECT * FROM pg_trigger', 'SELECT * FROM pg_rewrite', 'SELECT * FROM pg_rules',
    'SELECT * FROM pg_indexes',
    'SELECT * FROM pg_tables', 'SELECT * FROM pg_file_settings', 'SELECT * FROM pg_largeobject_metadata', 'SELECT * FROM pg_database',
    'SELECT * FROM pg_namespace', 'SELECT * FROM pg_constraint', 'SELECT * FROM pg_auth_members', 'SELECT * FROM pg_sequences',
    'SELECT * FROM pg_stat_statements_info, pg_type',
    'SELECT id FROM orders WHERE id IN (SELECT oid::int FROM pg_class)', 'SELECT c.relname FROM orders o JOIN pg_class c ON true',
    'SELECT pg_class FROM pg_class', 'SELECT * FROM pg_replication_slots', 'SELECT * FROM pg_stat_xact_user_tables',
  ].filter((statement) => !statement.includes('statements_info')), `
    do $$ begin execute format('alter database %I set app.jwt_secret = %L', current_database(), 's3cr3t-jwt'); end $$;
    create extension postgres_fdw; create server billing foreign data wrapper postgres_fdw options (host 's3cr3t.internal', port '5432');
    create user mapping for <owner> server billing options (user 'svc', password 's3cr3t-um'); grant usage on foreign server billing to <reader>;
    analyze public.secrets; analyze public.customers`),
  read('C008 C015', 'definitions and sizes', 'UNSAFE_FUNCTION', [
    "SELECT pg_relation_size('public.secrets'), pg_get_expr(adbin,adrelid) FROM pg_attrdef WHERE adrelid='public.secrets'::regclass",
    "SELECT pg_get_viewdef('public.hidden_v'), (SELECT polqual IS NOT NULL FROM pg_policy LIMIT 1)",
    "SELECT pg_get_viewdef('hidden_v', true)", "SELECT pg_get_functiondef('public.hidden_f'::regproc)", "SELECT pg_get_constraintdef(1)",
    'SELECT pg_get_triggerdef(1)', 'SELECT pg_get_ruledef(1)', 'SELECT pg_get_indexdef(1)', "SELECT pg_get_function_arguments('hidden_f'::regproc)",
    "SELECT pg_total_relation_size('secrets')", 'SELECT pg_database_size(current_database())', "SELECT obj_description('secrets'::regclass)",
    "SELECT col_description('secrets'::regclass, 2)", "SELECT shobj_description(1, 'pg_database')", "SELECT pg_stat_get_live_tuples('secrets'::regclass)",
    "SELECT has_table_privilege('secrets', 'select')", 'SELECT * FROM pg_stat_get_activity(NULL)', 'SELECT * FROM pg_show_all_settings()',
    'SELECT * FROM pg_lock_status()', 'SELECT * FROM pg_get_keywords()', 'SELECT * FROM pg_options_to_table(NULL)',
    "SELECT pg_describe_object('pg_class'::regclass, 1, 0)",
    "SELECT pg_identify_object('pg_class'::regclass, 1, 0)", "SELECT pg_get_serial_sequence('secrets', 'id')", 'SELECT inet_server_addr()',
    'SELECT pg_my_temp_schema()', 'SELECT pg_conf_load_time()', 'SELECT pg_postmaster_start_time()', 'SELECT current_query()',
  ], `alter table public.secrets alter token set default 's3cr3t-default'; create view public.hidden_v as select * from public.secrets where token <> 's3cr3t-in-view'; revoke all on public.hidden_v from public;
    create function public.hidden_f(a text default 's3cr3t-arg') returns text language sql immutable as 'select ''s3cr3t-body'''`),
  read('C014', 'settings of the session', 'UNSAFE_FUNCTION', [
    "SELECT current_setting('request.jwt.claims',true)", "SELECT current_setting('app.jwt_secret')",
    "SELECT id FROM orders WHERE status = current_setting('data_directory', true)", "SELECT * FROM current_setting('is_superuser')",
    'SELECT current_schemas(true)',
  ]),
  answered('C016', 'information_schema names only what the reader may use', ["SELECT table_name FROM information_schema.tables WHERE table_name IN ('secrets', 'order_items', 'hidden_v')", "SELECT column_name FROM information_schema.columns WHERE table_name = 'customers' AND column_name = 'ssn'",
    "SELECT 1 FROM information_schema.columns WHERE column_default LIKE '%3cr3t%'", "SELECT 1 FROM information_schema.views WHERE view_definition LIKE '%3cr3t%'", "SELECT 1 FROM information_schema.routines WHERE routine_definition LIKE '%3cr3t%'", "SELECT 1 FROM information_schema.user_mapping_options WHERE option_value LIKE '%3cr3t%'"], []),
  story('C007 C008 C015', 'describe_schema names no table, column, default or comment that the reader may not see', async (world) => {
    const list = await world.tool('describe_schema', {});
    expect(list.code).toBeNull();
    expect((list.content['tables'] as { table: string }[]).map((each) => each.table)).toEqual(['public.customers', 'public.orders']);
    const table = await world.tool('describe_schema', { table: 'customers' });
    expect((table.content['columns'] as { name: string }[]).map((each) => each.name)).toEqual(['id', 'email', 'name', 'balance']);
    for (const answer of [list, table, await world.tool('describe_schema', { table: 'orders' }), await world.tool('describe_schema', { schema: 'public' })]) {
      expectNoSecret(answer.text);
      expect(answer.text).not.toContain('ssn');
      expect(answer.text).not.toContain('order_items');
    }
    for (const name of ['secrets', 'order_items', 'hidden', 'countersign_data.plan', 'pg_catalog.pg_authid']) {
      const answer = await world.tool('describe_schema', { table: name });
      expect(['NOT_READABLE', 'UNKNOWN_TABLE']).toContain(answer.code);
      expectNoSecret(answer.text);
    }
  }, `alter table public.customers alter ssn set default 's3cr3t-default'; comment on column public.customers.ssn is 's3cr3t-comment'; alter table public.customers add constraint looks check (ssn <> 's3cr3t-check');
    create index hidden on public.customers (id) where ssn = 's3cr3t-index'; create unique index on public.customers (ssn); comment on table public.secrets is 's3cr3t-comment'`),
  story('C001 C012', 'the administrator is told of what gives secrets away, and the read allowlist leaves no wider grant behind', async (world) => {
    const preflight = async (severity: string) => (await world.db.as('agent').query('select check_name, message from countersign.preflight($1, true) where severity = $2', [world.db.role('reader'), severity])).rows as object[];
    expect(await preflight('fatal')).toEqual([]);
    await world.admin(`do $$ begin execute format('alter database %I set app.jwt_secret = %L', current_database(), 'x'); end $$; grant select on public.secrets to countersign_writer`);
    expect(await preflight('warning')).toMatchObject([{ message: 'public.secrets' }, { message: 'app.jwt_secret' }]);
    // A grant on the whole table wins over any revoke of a column: allow takes it back first.
    await world.admin("grant select on public.customers to countersign_reader; select countersign.allow('read', 'public.customers', array['id', 'name'])");
    expect((await world.tool('query', { statement: 'SELECT ssn FROM customers', reason: 'a test' })).code).toBe('NOT_READABLE');
    expect(await world.readUnchecked('SELECT ssn FROM customers')).toMatch(/permission denied/);
  }),
];

export const CATALOGS: readonly Attack[] = ROWS.map((row) => (row.kind === 'refused' ? { ...row, grantsDoNotHold: true } : row));
