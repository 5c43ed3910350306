import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    setupFiles: ['test/harness/cleanup.ts'],
    // A process per file: tests kill servers, change the environment and count handles.
    pool: 'forks',
    // Two files at a time: they wait for Postgres as much as they compute, and share one server.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
    cache: false,
  },
});
