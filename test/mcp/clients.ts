import { Client as CurrentClient } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/server';

/** What a tool call gave back, whichever client made it. */
export interface ToolResult {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export interface ListedTool {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

export interface TestClient {
  protocol(): string | undefined;
  listTools(): Promise<ListedTool[]>;
  call(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  close(): Promise<void>;
}

const IDENTITY = { name: 'countersign-test', version: '0' };

async function connectCurrent(transport: Transport, mode: 'legacy' | { pin: string }): Promise<TestClient> {
  const client = new CurrentClient(IDENTITY, { versionNegotiation: { mode } });
  await client.connect(transport as never);
  return {
    protocol: () => client.getNegotiatedProtocolVersion(),
    listTools: async () => (await client.listTools()).tools as unknown as ListedTool[],
    call: async (name, args, options = {}) =>
      (await client.callTool({ name, arguments: args }, { timeout: 60_000, ...options } as never)) as unknown as ToolResult,
    close: () => client.close(),
  };
}

async function connectOlder(transport: Transport): Promise<TestClient> {
  const client = new OlderClient(IDENTITY);
  let version: string | undefined;
  const spied = Object.assign(transport, { setProtocolVersion: (negotiated: string) => void (version = negotiated) });
  await client.connect(spied as never);
  return {
    protocol: () => version,
    listTools: async () => (await client.listTools()).tools as unknown as ListedTool[],
    call: async (name, args, options = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, { timeout: 60_000, ...options } as never)) as unknown as ToolResult,
    close: () => client.close(),
  };
}

/** Both official generations, and the newer one in both of its protocol eras. */
export const GENERATIONS: readonly [name: string, connect: (transport: Transport) => Promise<TestClient>][] = [
  ['client 2.x, 2026-07-28', (transport) => connectCurrent(transport, { pin: '2026-07-28' })],
  ['client 2.x, 2025 handshake', (transport) => connectCurrent(transport, 'legacy')],
  ['sdk 1.x', connectOlder],
];

/** The refusal in a result, after checking that it is one: an error, everything in the text, nothing structured. */
export function refusalIn(result: ToolResult): { code: string; message: string; hint: string } & Record<string, unknown> {
  if (result.isError !== true) throw new Error(`not a refusal: ${JSON.stringify(result).slice(0, 500)}`);
  if ('structuredContent' in result) throw new Error('a refusal must not be structured');
  return JSON.parse(result.content[0]?.text ?? '') as { code: string; message: string; hint: string };
}

/** The content of a success, after checking that both halves are the same. */
export function contentIn(result: ToolResult): Record<string, unknown> {
  if (result.isError) throw new Error(`refused: ${result.content[0]?.text}`);
  const text = JSON.parse(result.content[0]?.text ?? '') as unknown;
  if (JSON.stringify(text) !== JSON.stringify(result.structuredContent)) throw new Error('the two halves differ');
  return result.structuredContent as Record<string, unknown>;
}
