/**
 * The port to the embedded store: what the daemon asks of it, and the shapes of what is kept. The
 * adapter for LMDB is `lmdb-store.ts`; a simulated disk can stand in for it.
 */
import { isCount } from "../../shared/assert.js";
import { type RuleDefinition, type RuleSource, scopes } from "../../shared/domain/rule.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { type SettledPart, settledParts, type Target } from "../../shared/wire/message.js";

export const tables = [
  "rules",
  "windows",
  "journal",
  "proxies",
  "lives",
  "keys",
  "usage",
  "rollups",
  "marks",
  "budgets",
  "spends",
  "spendlog",
  "resets",
  "settings",
] as const;
export type Table = (typeof tables)[number];

/** One entry to write, or with `value` undefined to remove. */
export interface Change {
  readonly table: Table;
  readonly key: string | number;
  readonly value: readonly unknown[] | undefined;
}

export interface Entry {
  readonly key: string | number;
  readonly value: readonly unknown[];
}

/** `from` included, `before` not. */
export interface KeyRange {
  readonly from: string | number;
  readonly before: string | number;
  readonly limit: number;
}

export interface Store {
  /** The file, for messages. */
  readonly file: string;
  /** Every entry of a table in key order. Throws `StoreUnreadableError` when one can't be read. */
  entries(table: Table): Iterable<Entry>;
  /** One entry, or undefined. Throws as `entries`. */
  get(table: Table, key: string | number): readonly unknown[] | undefined;
  /**
   * Up to `limit` entries from `from` on (with it) and before `before`, in key order: one short
   * look, whatever else the table holds. Throws as `entries`.
   */
  range(table: Table, range: KeyRange): readonly Entry[];
  /** As `range`, the keys alone; with `reverse` from the end of the range backwards. */
  keys(
    table: Table,
    range: KeyRange & { readonly reverse?: boolean },
  ): readonly (string | number)[];
  /** Writes all changes or none. Resolved: they survive the end of this process. */
  commit(changes: readonly Change[]): Promise<void>;
  /** Bytes of the file; null when it can't be told. */
  sizeBytes(): number | null;
  /** Resolved: everything is on the disk and the file may be opened by another process. */
  close(): Promise<void>;
}

/** The store holds something that this version can't read; nothing is written over it. */
export class StoreUnreadableError extends Error {
  override name = "StoreUnreadableError";
}

/** The store can't be written; what waits for it is tried again. */
export class StoreFailingError extends Error {
  override name = "StoreFailingError";
}

/** Another living daemon owns the store. */
export class StoreLockedError extends Error {
  override name = "StoreLockedError";
}

/**
 * `rules`: [scope, subject, periodSeconds, maxRequests, maxTokens, perChild, source, createdAtMs,
 * updatedAtMs, sinceLsn] by rule id.
 */
export interface StoredRule {
  readonly definition: RuleDefinition;
  readonly source: RuleSource;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly sinceLsn: number;
}

export function ruleToStored(rule: StoredRule): readonly unknown[] {
  const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = rule.definition;
  return [
    scope,
    subject,
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
    rule.source,
    rule.createdAtMs,
    rule.updatedAtMs,
    rule.sinceLsn,
  ];
}

export function ruleFromStored(value: readonly unknown[]): StoredRule | null {
  const [
    rawScope,
    subject,
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
    source,
    createdAtMs,
    updatedAtMs,
    sinceLsn,
  ] = value;
  const scope = scopes.find((known) => known === rawScope);
  if (scope === undefined || typeof subject !== "string" || !isCount(periodSeconds)) return null;
  if (
    !(maxRequests === null || isCount(maxRequests, 1)) ||
    !(maxTokens === null || isCount(maxTokens, 1)) ||
    typeof perChild !== "boolean"
  )
    return null;
  if (source !== "manual" && source !== "config") return null;
  if (!isCount(createdAtMs) || !isCount(updatedAtMs) || !isCount(sinceLsn)) return null;
  return {
    definition: { scope, subject, periodSeconds, maxRequests, maxTokens, perChild },
    source,
    createdAtMs,
    updatedAtMs,
    sinceLsn,
  };
}

/**
 * `windows`: [startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn] by
 * rule id and child.
 */
export interface StoredWindow {
  readonly startMs: number;
  readonly previousRequests: number;
  readonly currentRequests: number;
  readonly previousTokens: number;
  readonly currentTokens: number;
  /** Every charge up to this log sequence number is in it. */
  readonly lsn: number;
}

export function windowKey(ruleId: string, child: string): string {
  return `${ruleId}\n${child}`;
}

/** The rule id and the child of a window's key. */
export function splitWindowKey(key: string): { readonly ruleId: string; readonly child: string } {
  const at = key.lastIndexOf("\n");
  return { ruleId: key.slice(0, at), child: key.slice(at + 1) };
}

export function windowToStored(window: Omit<StoredWindow, "lsn">, lsn: number): readonly unknown[] {
  return [
    window.startMs,
    window.previousRequests,
    window.currentRequests,
    window.previousTokens,
    window.currentTokens,
    lsn,
  ];
}

export function windowFromStored(value: readonly unknown[]): StoredWindow | null {
  if (value.length !== 6 || !value.every((item) => isCount(item))) return null;
  const [startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn] =
    value as [number, number, number, number, number, number];
  return { startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn };
}

/** One settle as the journal keeps it, until the windows that it moved are written. */
export interface JournalEntry {
  readonly proxyId: string;
  readonly seq: number;
  readonly part: SettledPart;
  readonly userPath: string;
  /** The admission's. 0: the request was let through unasked and is counted with this entry. */
  readonly lsn: number;
  readonly requestAtMs: number;
  readonly target: Target | null;
  /** The attempt's, at this target; 0 as above. */
  readonly targetLsn: number;
  readonly targetAtMs: number;
  readonly endedAtMs: number;
  readonly tokens: number;
}

/** `journal`: the settles of one commit, by log sequence number. */
export function journalToStored(entries: readonly JournalEntry[]): readonly unknown[] {
  return entries.map(
    ({
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    }) => [
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target?.provider ?? null,
      target?.model ?? null,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    ],
  );
}

export function journalFromStored(value: readonly unknown[]): JournalEntry[] | null {
  const entries: JournalEntry[] = [];
  for (const item of value) {
    if (!Array.isArray(item)) return null;
    const [
      proxyId,
      seq,
      rawPart,
      userPath,
      lsn,
      requestAtMs,
      provider,
      model,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    ] = item as unknown[];
    const part = settledParts.find((known) => known === rawPart);
    if (
      typeof proxyId !== "string" ||
      !isCount(seq) ||
      part === undefined ||
      typeof userPath !== "string" ||
      !isNormalUserPath(userPath)
    )
      return null;
    if (
      !isCount(lsn) ||
      !isCount(requestAtMs) ||
      !isCount(targetLsn) ||
      !isCount(targetAtMs) ||
      !isCount(endedAtMs) ||
      !isCount(tokens)
    )
      return null;
    const target =
      typeof provider === "string" && typeof model === "string" ? { provider, model } : null;
    if (target === null && (provider !== null || model !== null)) return null;
    entries.push({
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    });
  }
  return entries;
}

/**
 * `lives`: [bornLsn] under `lsn`: the first log sequence number of the last life, so that the next
 * one's lies above all that it gave out.
 */
export const epochStartKey = "lsn";

/**
 * `lives`: [lsn] under `reset`: the last reset of all rules. It stands for the `sinceLsn` of each
 * of them.
 */
export const resetKey = "reset";

/** `marks`: [key]: every sum of usage holds the records up to this key. */
export const rolledUpMark = "rolled_up";

/** What writes a rule. */
export function ruleWritten(rule: StoredRule & { readonly id: string }): Change {
  return { table: "rules", key: rule.id, value: ruleToStored(rule) };
}

/** What removes a rule and its own window. Its children's windows go as they are forgotten. */
export function ruleRemoved(id: string): Change[] {
  return [
    { table: "rules", key: id, value: undefined },
    { table: "windows", key: windowKey(id, ""), value: undefined },
  ];
}

/** `proxies`: [settledSeq, connected, seenAtMs] by proxy id. */
export interface StoredProxy {
  readonly settledSeq: number;
  /** Whether it was connected when this was written, so that a restarted daemon waits for it. */
  readonly connected: boolean;
  readonly seenAtMs: number;
}

export function proxyToStored(proxy: StoredProxy): readonly unknown[] {
  return [proxy.settledSeq, proxy.connected, proxy.seenAtMs];
}

export function proxyFromStored(value: readonly unknown[]): StoredProxy | null {
  const [settledSeq, connected, seenAtMs] = value;
  return isCount(settledSeq) && typeof connected === "boolean" && isCount(seenAtMs)
    ? { settledSeq, connected, seenAtMs }
    : null;
}
