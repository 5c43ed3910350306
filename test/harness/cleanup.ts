/** After each test file: its databases are dropped, or kept and named when a test failed. */
import { afterAll } from 'vitest';
import { closeTestDatabases } from './database.js';
import { stopOwnServers } from './own-server.js';

interface Task { type: string; result?: { state?: string } | undefined; tasks?: Task[] }

function hasFailed(task: Task): boolean {
  return task.result?.state === 'fail' || (task.tasks ?? []).some(hasFailed);
}

afterAll(async ({}, suite) => {
  const failed = hasFailed(suite as unknown as Task);
  const names = await closeTestDatabases(failed);
  if (failed && names.length > 0) process.stderr.write(`[test server] a test failed: kept database ${names.join(', ')}\n`);
  await stopOwnServers();
}, 60_000);
