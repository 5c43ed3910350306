import { Client } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { CountersignError, type Code } from '../../errors.js';

/** What a tool answered: the result, or a refusal. */
export type Answer =
  | { ok: true; data: Record<string, unknown> }
  | { ok: false; code: string; message: string; hint: string; data: Record<string, unknown> };

/** A plan as its preview describes it; the part the demo uses. */
export interface Preview {
  planToken: string;
  status: string;
  statement: string;
  params: unknown[];
}

/** An MCP client with a server of its own, as Claude Desktop would start it. */
export interface Agent {
  call(tool: string, args: Record<string, unknown>): Promise<Answer>;
  /** execute_plan, called again for as long as the plan waits for a human. */
  execute(preview: Preview): Promise<Answer>;
  serverName: string;
  tools: string[];
  close(): Promise<void>;
}

export interface AgentOptions {
  /** How to start the server, and its two logins; it is given no other. */
  node: string;
  cli: string;
  agentUrl: string;
  readerUrl: string;
  /** Lines the server wrote to stderr. */
  log(line: string): void;
}

/** Longer than any hold of the server; the client's own 60 s would cut a held call short. */
const CALL_TIMEOUT_MS = 120_000;

/**
 * Starts the real server over stdio and connects to it with the official client.
 *
 * @throws CountersignError INTERNAL_ERROR with the server's own words when it does not start
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const words: string[] = [];
  const transport = new StdioClientTransport({
    command: options.node,
    args: [options.cli, 'serve'],
    env: {
      ...getDefaultEnvironment(),
      COUNTERSIGN_DATABASE_URL: options.agentUrl,
      COUNTERSIGN_READER_URL: options.readerUrl,
      COUNTERSIGN_CALLER_ID: 'demo-agent',
    },
    stderr: 'pipe',
  });
  transport.stderr?.on('data', (chunk: Buffer) => {
    words.push(chunk.toString('utf8'));
    options.log(chunk.toString('utf8').trimEnd());
  });
  const client = new Client({ name: 'countersign-demo-agent', version: '1.0.0' });
  try {
    await client.connect(transport);
    const { tools } = await client.listTools();
    return agentOf(client, tools.map((tool) => tool.name));
  } catch (error) {
    await client.close().catch(() => undefined);
    throw new CountersignError('INTERNAL_ERROR', `the server did not start: ${words.join('').trim() || String(error)}`, 'Run: countersign doctor');
  }
}

function agentOf(client: Client, tools: string[]): Agent {
  const call = async (tool: string, args: Record<string, unknown>): Promise<Answer> =>
    answerOf(await client.callTool({ name: tool, arguments: args }, { timeout: CALL_TIMEOUT_MS, resetTimeoutOnProgress: true }));
  return {
    call,
    async execute({ planToken, statement, params }) {
      for (;;) {
        const answer = await call('execute_plan', { plan_token: planToken, statement, params });
        // The server lets go after a while since clients give up; calling again takes up the wait.
        if (answer.ok || answer.code !== ('AWAITING_APPROVAL' satisfies Code)) return answer;
      }
    },
    serverName: client.getServerVersion()?.name ?? '',
    tools,
    close: () => client.close(),
  };
}

function answerOf(result: Awaited<ReturnType<Client['callTool']>>): Answer {
  if (result.isError !== true) return { ok: true, data: result.structuredContent as Record<string, unknown> };
  const [first] = result.content;
  const data = JSON.parse(first?.type === 'text' ? first.text : '{}') as Record<string, unknown>;
  return { ok: false, code: String(data['code']), message: String(data['message']), hint: String(data['hint']), data };
}

/** The plan in a preview's answer. */
export function previewOf(data: Record<string, unknown>): Preview {
  return {
    planToken: String(data['plan_token']),
    status: String(data['status']),
    statement: String(data['statement']),
    params: (data['params'] ?? []) as unknown[],
  };
}
