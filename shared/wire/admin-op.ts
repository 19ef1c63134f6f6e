/**
 * The operations that the HTTP API and the command line send to the daemon; bodies and answers
 * are those of the admin API (`docs/reference/admin-api.md`).
 */
import { bad, type Checked, good, isObject } from "../checked.js";
import type { Failure } from "../error-code.js";

export const adminOps = [
  "rate-limits.list",
  "rate-limits.children",
  "rate-limits.test",
  "rate-limits.banned",
  "rate-limits.put",
  "rate-limits.delete",
  "rate-limits.raise",
  "rate-limits.end-raise",
  "rate-limits.reset-one",
  "rate-limits.reset",
  "budgets.list",
  "budgets.children",
  "budgets.put",
  "budgets.delete",
  "budgets.raise",
  "budgets.end-raise",
  "budgets.reset-one",
  "budgets.reset",
  "budgets.settings",
  "budgets.put-settings",
  "limits.stage",
  "limits.plan",
  "limits.apply",
  "limits.keys",
  "keys.issue",
  "keys.list",
  "keys.rotate",
  "keys.deactivate",
  "keys.delete",
  "jwts.list",
  "jwts.deny",
  "jwts.allow",
  "leases.list",
  "queues.list",
  "refusals.list",
  "sessions.open",
  "sessions.open-admin",
  "sessions.check",
  "sessions.close",
  "sessions.failed",
  "objects.own",
  "objects.owners",
  "responses.pending",
  "responses.due",
  "responses.forget",
  "loops.find",
  "batches.capped",
  "batches.enqueue",
  "batches.withdraw",
  "batches.settle",
  "explain",
  "status",
  "metrics",
  "backup",
  "targets.report",
  "usage.status",
  "usage.summary",
  "usage.records",
  "usage.export",
  "usage.follow",
  "usage.adjust",
  "alerts.list",
  "alerts.due",
  "alerts.report",
  "requests.report",
  "requests.list",
  "requests.show",
  "requests.sessions",
  "tenants.list",
  "traffic.summary",
  "upstream-limits.list",
  "audit.list",
  "configuration.report",
  "reconciliations.keep",
  "reconciliations.list",
] as const;
export type AdminOp = (typeof adminOps)[number];

/** The daemon's answer or failure, both as the HTTP API would give them. */
export type DaemonAnswer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** Whether a value may be the name of an operation, of any release. */
export function isOperationName(value: unknown): value is string {
  return typeof value === "string" && /^[a-z][a-z.-]{0,63}$/.test(value);
}

/** The groupings of a usage summary. */
export const groupings = [
  "day",
  "model",
  "provider",
  "path",
  "requested_model",
  "key",
  "label",
  "session",
] as const;
export type Grouping = (typeof groupings)[number];

/** The steps of a usage summary over time. */
export const usageSteps = ["day", "hour"] as const;
export type UsageStep = (typeof usageSteps)[number];

const readOps: ReadonlySet<AdminOp> = new Set([
  "rate-limits.list",
  "rate-limits.children",
  "rate-limits.test",
  "budgets.list",
  "budgets.children",
  "budgets.settings",
  "limits.plan",
  "limits.keys",
  "keys.list",
  "jwts.list",
  "leases.list",
  "queues.list",
  "refusals.list",
  "objects.owners",
  "responses.pending",
  "explain",
  "status",
  "metrics",
  "backup",
  "usage.status",
  "usage.summary",
  "usage.records",
  "usage.export",
  "usage.follow",
  "alerts.list",
  "requests.list",
  "requests.show",
  "requests.sessions",
  "tenants.list",
  "traffic.summary",
  "upstream-limits.list",
  "audit.list",
  "reconciliations.list",
]);

/** Answered from memory only, immediately, whatever the state of the store and of long reads. */
const memoryOps: ReadonlySet<AdminOp> = new Set([
  "rate-limits.banned",
  "sessions.open",
  "sessions.open-admin",
  "sessions.check",
  "sessions.close",
  "targets.report",
  "limits.stage",
  "responses.due",
  "loops.find",
  "batches.capped",
  "batches.enqueue",
  "batches.withdraw",
  "alerts.due",
  "requests.report",
]);

/** Whether an operation changes nothing and may take long. */
export function isRead(op: AdminOp): boolean {
  return readOps.has(op);
}

/** Whether an operation changes the store: if no answer arrives, it may still have been made. */
export function isChange(op: AdminOp): boolean {
  return !readOps.has(op) && !memoryOps.has(op);
}

/**
 * Whether an operation may be resent to the next daemon after the one that received it is gone: it
 * is idempotent.
 */
export function isRepeatable(op: AdminOp): boolean {
  return !isChange(op) || repeatableChanges.has(op);
}

const repeatableChanges: ReadonlySet<AdminOp> = new Set([
  "objects.own",
  "responses.forget",
  "batches.settle",
  "usage.adjust",
  "alerts.report",
  "configuration.report",
]);

/** Operations for requests of callers: proxies send them on any connection. */
const callerOps: ReadonlySet<AdminOp> = new Set([
  "rate-limits.banned",
  "objects.own",
  "objects.owners",
  "responses.pending",
  "responses.due",
  "responses.forget",
  "loops.find",
  "batches.capped",
  "batches.enqueue",
  "batches.withdraw",
  "batches.settle",
  "explain",
  "usage.status",
  "sessions.open",
  "sessions.check",
  "sessions.close",
  "sessions.failed",
  "targets.report",
  "alerts.due",
  "alerts.report",
  "requests.report",
  "configuration.report",
]);

/** Whether an operation needs a connection to the socket for administration. */
export function isAdministration(op: AdminOp): boolean {
  return !callerOps.has(op);
}

const signInOps: ReadonlySet<AdminOp> = new Set([
  "sessions.open",
  "sessions.open-admin",
  "sessions.close",
  "sessions.failed",
]);

/** Whether the audit log has an entry for each change that the operation makes. */
export function isAudited(op: AdminOp): boolean {
  return (isChange(op) && isAdministration(op)) || signInOps.has(op);
}

/** For `targets.report`: the number of targets, and the length of each sentence. */
export const openTargetsMax = 100;
export const openTargetCharsMax = 500;

/** The body of `targets.report`. */
export function parseOpenTargets(body: unknown): Checked<readonly string[]> {
  const targets = isObject(body) ? body["targets"] : undefined;
  return Array.isArray(targets) && targets.length <= openTargetsMax && targets.every(isSentence)
    ? good(targets)
    : bad(`targets must be at most ${openTargetsMax} sentences`, "targets");
}

function isSentence(value: unknown): value is string {
  return typeof value === "string" && value.length <= openTargetCharsMax;
}
