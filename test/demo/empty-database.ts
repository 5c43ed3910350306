import { randomBytes } from 'node:crypto';

import pg from 'pg';

export interface TestDatabase {
  client: pg.Client;
  drop(): Promise<void>;
}

/** An empty database of its own on the test server. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const base = process.env['TEST_DATABASE_URL'] ?? '';
  const name = `demo_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(base);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(base);
  url.pathname = `/${name}`;
  const client = new pg.Client(url.href);
  await client.connect();
  return {
    client,
    async drop() {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
