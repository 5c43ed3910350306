/** What a program gets from `import … from 'countersign'`. */
export { PlanStore } from './plan-store/store.js';
export type { Begun, CreateOptions, Decided, Ended, Page, PlanStoreOptions, ReconcileStuck, WaitForDecision } from './plan-store/store.js';
export type { ApprovalHint, CreatedPlan, Decision, ExecutionMeta, HostPlan, PlanInfo, PlanStatus } from './plan-store/plans.js';
export type { AuditEntry, AuditSink } from './plan-store/audit.js';
export type { ConnectionOptions, EmbeddedChoice, QueryablePool } from './plan-store/connection.js';
export type { JournalReport } from './plan-store/journal.js';
export type { Reconcile, ReconcileReport, Verdict } from './plan-store/reconcile.js';
export { canonicalJson, fingerprint } from './plan-store/fingerprint.js';
export { connect } from './plan-store/connect.js';
export type { Connection } from './plan-store/connect.js';
export { createApprovalServer, startApprovalServer } from './approvals/start.js';
export type { ApprovalServer, ApprovalServerOptions } from './approvals/start.js';
export type { RenderedPlan } from './approvals/app.js';
export type { ApprovalStore, PlanDetail } from './approvals/store.js';
export { PlanError } from './errors.js';
export type { Code, Refusal } from './errors.js';
export type { Settlement } from './client.js';
