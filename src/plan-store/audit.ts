/** What the host's own trail is told. The database's events exist whatever becomes of this. */
export interface AuditEntry {
  readonly ts: Date;
  readonly verb: 'create' | 'begin' | 'confirm_executed' | 'confirm_failed' | 'approve' | 'reject' | 'settle' | 'adopt' | 'reconcile' | 'sweep';
  /** Null where there is no plan, as in a refused create. */
  readonly planToken: string | null;
  readonly ok: boolean;
  /** The state the plan is in now, if it is known. */
  readonly status: string | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly tool: string | null;
  readonly callerId: string | null;
}

/**
 * Called synchronously after each call, with no payload in it. What it throws is dropped, what it returns is not waited
 * for: a trail beside the database's can neither change a result nor hold it up.
 */
export type AuditSink = (entry: AuditEntry) => void;

export function createAudit(sink: AuditSink | undefined): (entry: Omit<AuditEntry, 'ts'>) => void {
  if (sink === undefined) return () => undefined;
  return (entry) => {
    try {
      const returned: unknown = sink(Object.freeze({ ts: new Date(), ...entry }));
      // An async sink compiles; its rejection must not end the process.
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // By contract.
    }
  };
}
