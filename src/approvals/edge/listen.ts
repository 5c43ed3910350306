/**
 * Listening on loopback, on both of its addresses or on none: were [::1] left free, another process could take it and be
 * what a browser shows for "localhost".
 */
import { createServer, type Server } from 'node:net';
import type { Server as HttpServer } from 'node:http';

const IPV4 = '127.0.0.1';
const IPV6 = '::1';
const ATTEMPTS = 10;

/** The port is somebody else's, on one of the addresses. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

function listenOn(server: Server | HttpServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(error.code === 'EADDRINUSE' || error.code === 'EACCES' ? new PortTaken(error.message) : error);
    server.once('error', fail);
    server.listen({ host, port, exclusive: true, ipv6Only: true }, () => {
      server.removeListener('error', fail);
      resolve((server.address() as { port: number }).port);
    });
  });
}

async function listenBoth(http: HttpServer, port: number): Promise<{ port: number; second: Server | null }> {
  const bound = await listenOn(http, IPV4, port);
  // One server, two doors: what comes in at the second is handled by the first.
  const second = createServer((socket) => http.emit('connection', socket));
  second.maxConnections = http.maxConnections;
  try {
    await listenOn(second, IPV6, bound);
    return { port: bound, second };
  } catch (error) {
    if (!(error instanceof PortTaken)) return { port: bound, second: null };
    await new Promise((resolve) => http.close(resolve));
    throw error;
  }
}

export interface Listening { port: number; close(): Promise<void> }

/** @param port 0 for one that the system assigns. @throws PortTaken */
export async function listenOnLoopback(http: HttpServer, port: number): Promise<Listening> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { port: bound, second } = await listenBoth(http, port);
      return {
        port: bound,
        async close() {
          second?.close();
          const closed = new Promise((resolve) => http.close(resolve));
          http.closeAllConnections();
          await closed;
        },
      };
    } catch (error) {
      if (port !== 0 || !(error instanceof PortTaken) || attempt >= ATTEMPTS) throw error;
    }
  }
}
