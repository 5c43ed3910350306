/** The page as it runs: a real server on a real port, before a real database, for tests to talk to. */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { createDatabaseStore } from '../../src/approvals/database-store.js';
import { startApprovalServer, type ApprovalServer, type ApprovalServerOptions } from '../../src/approvals/start.js';
import type { TestDatabase } from '../harness/database.js';
import type { Login } from '../harness/fixture.js';

export const SECRET = 'a-secret-of-the-test-0123456789';

export interface Page extends ApprovalServer {
  log: string[];
  stop(): Promise<void>;
}

export async function startPage(db: TestDatabase, options: ApprovalServerOptions = {}, login: Login = 'alice'): Promise<Page> {
  const log: string[] = [];
  const store = createDatabaseStore({ url: db.url(login), log: (line) => log.push(line) });
  const server = await startApprovalServer(options.sessions ? null : store, { port: 0, authToken: SECRET, log: (line) => log.push(line), ...options });
  return Object.assign(server, { log, stop: async () => { await server.close(); await store.close(); } });
}

/** Starts a page that ends with the test. */
export async function pageFor(db: TestDatabase, options: ApprovalServerOptions = {}, login: Login = 'alice'): Promise<Page> {
  const page = await startPage(db, options, login);
  onTestFinished(() => page.stop());
  return page;
}

export interface Answer { status: number; headers: Record<string, string | string[] | undefined>; text: string; json: Record<string, unknown> }

export interface Asked { method?: string; headers?: Record<string, string>; body?: string | Buffer; secret?: string | null; host?: string }

/** One request over node:http, which sends the path and the headers as they are. */
export function ask(page: { port: number }, path: string, { method = 'GET', headers = {}, body, secret = SECRET, host = '127.0.0.1' }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host, port: page.port, path, method, agent: false,
      headers: { Host: `127.0.0.1:${page.port}`, ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }), ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }), ...headers },
    }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; }).on('error', reject).on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: text.startsWith('{') ? JSON.parse(text) as Record<string, unknown> : {} });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

export function post(page: { port: number }, path: string, value: unknown, asked: Asked = {}): Promise<Answer> {
  return ask(page, path, { method: 'POST', body: typeof value === 'string' ? value : JSON.stringify(value), ...asked });
}

/** Bytes in, bytes out: what comes back until the other side closes, or `waitMs` are over. */
export function raw(page: { port: number }, bytes: string, { waitMs = 3_000, host = '127.0.0.1' } = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: page.port }, () => socket.write(bytes.replaceAll('<p>', String(page.port)), 'latin1'));
    let text = '';
    const done = (): void => { clearTimeout(timer); socket.destroy(); resolve(text); };
    const timer = setTimeout(done, waitMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => { text += chunk; }).on('end', done).on('error', done).on('close', done);
  });
}

export const statusIn = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
