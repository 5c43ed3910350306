import { expect, it } from 'vitest';

import { main } from '../../src/cli/main.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { Login } from '../harness/fixture.js';
import { fakeIo } from './fake-io.js';

/** A start that ends by itself. (A database that is away does not end it: test/mcp/server-without-database.test.ts.) */
async function serve(db: TestDatabase, agent: Login = 'agent', env: NodeJS.ProcessEnv = {}) {
  const io = fakeIo({ env: { COUNTERSIGN_DATABASE_URL: db.url(agent), COUNTERSIGN_READER_URL: db.url('reader'), COUNTERSIGN_APPROVAL_PAGE: 'off', ...env } });
  const code = await main(['serve'], io, '/opt/countersign/dist/cli.js');
  expect(io.stdout()).toBe('');
  return { code, stderr: io.stderr() };
}

const command = (db: TestDatabase): string => {
  const { host, pathname } = new URL(db.url('admin'));
  return `COUNTERSIGN_ADMIN_URL='postgresql://ADMIN:PASSWORD@${host}${pathname}' countersign install`;
};

it('on a database without a backend ends with 1 and says what to run', async () => {
  const db = await createTestDatabase({ backend: false });
  const { code, stderr } = await serve(db);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^countersign: fatal: agent login: No backend of this version is in this database\. .* does not exist\. Run /);
  expect(stderr).toContain(`Run countersign install as an administrator, then start again: ${command(db)}`);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

it('says so even when only errors are to be logged', async () => {
  const db = await createTestDatabase({ backend: false });
  expect((await serve(db, 'agent', { COUNTERSIGN_LOG_LEVEL: 'error' })).stderr).toContain(command(db));
});

it.each([
  [0, 'install'], [99, 'Update this package: the backend in the database is newer.'],
])('on a backend of version %s ends with 1 and says what to run', async (version, remedy) => {
  const db = await createTestDatabase();
  await db.as('admin').query(`create or replace function countersign.version() returns integer language sql immutable set search_path = pg_catalog, pg_temp as 'select ${version}'`);
  // what another version would not have
  await db.as('admin').query('drop function countersign.preflight(text, boolean)');
  const { code, stderr } = await serve(db);
  expect(code).toBe(1);
  expect(stderr).toContain(`The backend in the database has version ${version}, this server needs 1.`);
  expect(stderr).toContain(remedy === 'install' ? command(db) : remedy);
});

it('with a login that is no agent ends with 1 and names the grant', async () => {
  const { code, stderr } = await serve(await createTestDatabase(), 'nobody');
  expect(code).toBe(1);
  expect(stderr).toContain('grant countersign_agent');
});
