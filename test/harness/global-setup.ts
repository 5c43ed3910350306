/** Once per run: a server, the fixture logins, and a template database with the backend in it. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { install } from '../../src/db/install.js';
import { LOGINS, loginRole, withDatabase, type Fixture } from './fixture.js';
import { startTestServer } from './server.js';

declare module 'vitest' {
  export interface ProvidedContext { fixture: Fixture }
}

const say = (line: string): void => { process.stderr.write(`[test server] ${line}\n`); };

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer(say);
  const run = `cs${randomBytes(3).toString('hex')}`;
  const admin = new pg.Client({ connectionString: server.adminUrl, application_name: 'countersign test setup' });
  try {
    await admin.connect();
    const { rows } = await admin.query<{ version: string; number: number }>(
      'select version(), current_setting(\'server_version_num\')::integer as number');
    say(`${server.label}: ${rows[0]?.version.split(' on ')[0] ?? '?'}`);
    const fixture: Fixture = {
      run, adminUrl: server.adminUrl, template: `${run}_template`, password: randomBytes(12).toString('hex'), major: Math.floor((rows[0]?.number ?? 0) / 10_000),
    };
    await createTemplate(admin, fixture);
    project.provide('fixture', fixture);
    return async () => {
      const kept = await cleanUp(admin, fixture);
      await admin.end();
      if (kept.length > 0) say(`kept for inspection: ${kept.join(', ')} (${server.label})`);
      await server.stop(kept.length > 0);
    };
  } catch (error) {
    await admin.end().catch(() => undefined);
    await server.stop(false);
    throw error;
  }
}

async function createTemplate(admin: pg.Client, fixture: Fixture): Promise<void> {
  await admin.query(`create database ${fixture.template}`);
  const url = withDatabase(fixture.adminUrl, fixture.template);
  await install(url, { strict: true, log: say });
  for (const [login, groups] of Object.entries(LOGINS)) {
    const role = loginRole(fixture, login);
    await admin.query(`create role ${role} login inherit password '${fixture.password}'`);
    await admin.query(`grant connect on database ${fixture.template} to ${role}`);
    for (const group of groups) await admin.query(`grant ${group} to ${role}`);
  }
  await admin.query(`grant ${loginRole(fixture, 'owner')} to countersign_migrator`);
  const template = new pg.Client({ connectionString: url });
  await template.connect();
  await template.query(`grant usage, create on schema public to ${loginRole(fixture, 'owner')}`);
  await template.end();
}

/** Drops what no failed test keeps; returns the names of databases that stay. */
async function cleanUp(admin: pg.Client, fixture: Fixture): Promise<string[]> {
  await admin.query(`drop database if exists ${fixture.template} with (force)`);
  const { rows } = await admin.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1) order by datname', [fixture.run]);
  const kept = rows.map((row) => row.datname);
  // Their logins stay with them: they own objects in there.
  if (kept.length === 0) for (const login of Object.keys(LOGINS)) await admin.query(`drop role if exists ${loginRole(fixture, login)}`);
  return kept;
}
