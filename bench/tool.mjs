import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

async function connect(env) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli, 'serve'], env: { PATH: process.env.PATH, ...env }, stderr: 'inherit' }));
  return client;
}

/** The real MCP server as a child process: `call` answers a success, `refusal` a code. */
export async function startTool(env) {
  const client = await connect(env);
  return {
    async call(name, args) {
      const result = await client.callTool({ name, arguments: args });
      if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
      return result.structuredContent;
    },
    async refusal(name, args) {
      const result = await client.callTool({ name, arguments: args });
      return result.isError ? JSON.parse(result.content[0].text).code : null;
    },
    close: () => client.close(),
  };
}

/** Milliseconds from spawning the server to the answer of its first tool call. */
export async function timeToFirstAnswer(env) {
  const started = performance.now();
  const client = await connect(env);
  const result = await client.callTool({ name: 'query', arguments: { statement: 'select 1 as one', reason: 'bench' } });
  const took = performance.now() - started;
  await client.close();
  if (result.isError) throw new Error(result.content[0].text);
  return took;
}
