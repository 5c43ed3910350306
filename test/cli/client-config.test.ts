import { expect, it } from 'vitest';

import { configFor } from '../../src/cli/commands/client-config.js';
import { main } from '../../src/cli/main.js';
import { fakeIo, longestLine } from './fake-io.js';

const launch = { node: '/usr/bin/node', cli: '/opt/countersign/dist/cli.js', env: { COUNTERSIGN_DATA_DIR: '/home/ann/.local/share/countersign' } };
const server = { command: '/usr/bin/node', args: ['/opt/countersign/dist/cli.js', 'serve'], env: { COUNTERSIGN_DATA_DIR: '/home/ann/.local/share/countersign' } };

it('for Claude Desktop and Cursor names the server under mcpServers', () => {
  expect(configFor('claude-desktop', launch)).toEqual({ mcpServers: { countersign: server } });
  expect(configFor('cursor', launch)).toEqual({ mcpServers: { countersign: server } });
});

it('for Claude Code says that it is a stdio server', () => {
  expect(configFor('claude-code', launch)).toEqual({ mcpServers: { countersign: { type: 'stdio', ...server } } });
});

it('for VS Code names the server under servers', () => {
  expect(configFor('vscode', launch)).toEqual({ servers: { countersign: { type: 'stdio', ...server } } });
});

it('is the only thing on stdout, and where it belongs is on stderr', async () => {
  const io = fakeIo({ env: { COUNTERSIGN_DATA_DIR: '/srv/data', COUNTERSIGN_CALLER_ID: 'desk 4' } });
  expect(await main(['client-config', 'claude-desktop'], io, '/opt/countersign/dist/cli.js')).toBe(0);
  expect(JSON.parse(io.stdout())).toEqual({
    mcpServers: {
      countersign: {
        command: process.execPath,
        args: ['/opt/countersign/dist/cli.js', 'serve'],
        env: { COUNTERSIGN_DATA_DIR: '/srv/data', COUNTERSIGN_CALLER_ID: 'desk 4' },
      },
    },
  });
  expect(io.stderr()).toContain('claude_desktop_config.json');
  expect(longestLine(io.stderr())).toBeLessThanOrEqual(80);
});

it('holds the agent\'s two logins and never a human\'s', async () => {
  const io = fakeIo({
    env: {
      DATABASE_URL: 'postgresql://agent:a@db/shop', COUNTERSIGN_READER_URL: 'postgresql://reader:r@db/shop',
      COUNTERSIGN_APPROVER_URL: 'postgresql://ann:n@db/shop', COUNTERSIGN_ADMIN_URL: 'postgresql://root:t@db/shop',
    },
  });
  expect(await main(['client-config', 'cursor'], io, '/opt/countersign/dist/cli.js')).toBe(0);
  expect(JSON.parse(io.stdout())).toMatchObject({
    mcpServers: { countersign: { env: { COUNTERSIGN_DATABASE_URL: 'postgresql://agent:a@db/shop', COUNTERSIGN_READER_URL: 'postgresql://reader:r@db/shop' } } },
  });
  expect(io.stdout()).not.toMatch(/ann|root/);
  expect(io.stderr()).toContain('keep the file to yourself');
});

it('for a client that looks into projects says that the file is never committed', async () => {
  const env = { DATABASE_URL: 'postgresql://agent:a@db/shop', COUNTERSIGN_READER_URL: 'postgresql://reader:r@db/shop' };
  for (const [client, file] of [['claude-code', '.mcp.json'], ['cursor', '.cursor/mcp.json'], ['vscode', '.vscode/mcp.json']] as const) {
    const io = fakeIo({ env });
    expect(await main(['client-config', client], io, '/opt/countersign/dist/cli.js')).toBe(0);
    expect(io.stderr()).toContain(`Never commit it: in a project, add ${file} to .gitignore first`);
  }
  const desktop = fakeIo({ env });
  await main(['client-config', 'claude-desktop'], desktop, '/opt/countersign/dist/cli.js');
  expect(desktop.stderr()).not.toContain('commit');
});
