import type { Client, ClientBase } from 'pg';

/** Counts what a connection receives and cuts it when there is too much. */
export interface StreamLimit {
  /** Starts a new count. More than `bytes` from here on destroys the connection. */
  allow(bytes: number): void;
  /** Bytes received since `allow`. */
  received(): number;
  /** True once the connection was cut. */
  cut(): boolean;
  /** Stops counting, before the connection goes back to its pool. */
  release(): void;
}

/**
 * A row cannot be measured before it is asked for, and node-pg buffers a message whole: one value of 600 MB would end
 * the process outside of any promise. So the bytes are counted on the socket, ahead of the protocol parser, and the
 * socket is destroyed above the limit. Memory stays flat whatever the row holds; the session ends with its socket.
 */
export function limitStream(connection: ClientBase): StreamLimit {
  // A pooled client has it too; only the type of its base class does not say so.
  const { stream } = (connection as Client).connection;
  let count = 0;
  let limit = Number.POSITIVE_INFINITY;
  const onData = (chunk: Buffer): void => {
    count += chunk.length;
    if (count > limit) stream.destroy();
  };
  stream.prependListener('data', onData);
  return {
    allow: (bytes) => {
      count = 0;
      limit = bytes;
    },
    received: () => count,
    cut: () => count > limit,
    release: () => void stream.off('data', onData),
  };
}
