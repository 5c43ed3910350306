import type { PlanListener } from '../db/notify.js';
import type { CallPool } from '../db/pool.js';

/** What the MCP server is given. Nothing in `src/mcp` opens a connection or reads the environment itself. */
export interface ServerDependencies {
  /** Version of the package, shown to clients. */
  version: string;
  /** COUNTERSIGN_CALLER_ID: a label in the audit trail, never an identity. */
  callerId: string | null;
  /** COUNTERSIGN_HOLD_SECONDS: how long execute_plan waits for a human before it answers AWAITING_APPROVAL. */
  holdSeconds: number;
  /** The login name of the reader, for the start-up checks. */
  readerRole: string;
  /** The agent's login: the functions of the API. */
  agent: CallPool;
  /** The reader's login: `query` and `explain_plan`. */
  reader: CallPool;
  /** Wake-ups when a human has decided. */
  listener: PlanListener;
  /** Where a human can decide, without any secret: it goes to the agent. Null while there is no page. */
  approvalPage?: () => string | null;
  /** What an administrator runs to put the backend into this database, or bring it up to date. */
  installCommand: string;
  /** Diagnostics. Goes to stderr: stdout carries the protocol and nothing else. `error` is why the process ends. */
  log(line: string, level?: 'info' | 'error'): void;
}
