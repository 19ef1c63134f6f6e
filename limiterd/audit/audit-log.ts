/**
 * The audit log: each change that was made on this host. An entry is written in the commit of its
 * change. Old entries are removed by age, and beyond `auditBytesMax`. Not here: how an entry
 * describes its change (`describe-change.ts`).
 *
 * `audit`: a number that grows with the time → [time in ms, who, from, operation, subject, before,
 * after, request id, user path], with before and after as JSON; the path is null if the subject has
 * none.
 */
import type { AuditEntry, AuditPage } from "../../shared/api/audit-entry.js";
import { auditBytesMax, auditedPerChangeMax, auditTextCharsMax } from "../../shared/bounds.js";
import { asQuery, bad, type Checked, good, isAbsent, parseJson } from "../../shared/checked.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { dayMs, formatMillis, isMoment } from "../../shared/time.js";
import type { Requester } from "../../shared/wire/message-to-daemon.js";
import { parseLimit, parseMoment, parsePathFilter, parsePosition } from "../lists/list-query.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

/** What changed on one subject. */
export interface AuditedChange {
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  /**
   * The user path of the rule, budget or key; absent if it has none, or if all are changed at once.
   */
  readonly path?: string | undefined;
}

/** Who asked for which operation. */
export interface AuditedRequest {
  readonly op: string;
  readonly by: Requester | undefined;
}

/** The request of changes that a start or a reload finds in the configuration. */
export function configurationApplied(file: string | null): AuditedRequest {
  const from = (file ?? "environment").slice(-auditTextCharsMax);
  return { op: "configuration.apply", by: { who: "configuration", from, requestId: "" } };
}

const unknownRequester: Requester = { who: "unknown", from: "socket", requestId: "" };
/** Keys are in microseconds, so that changes of the same millisecond have different keys. */
const keysPerMs = 1000;
/** The index of the user path in a stored value. */
const pathIndex = 8;
const lastKey = Number.MAX_SAFE_INTEGER;
/** Entries that a page examines. */
const examinedMax = 2_000;
/** Removals at a time. */
const removalsMax = 1_000;
const filterCharsMax = 200;
/** Failed sign-ins that are recorded in a minute; the next entry counts those left out. */
const failedPerMinute = 20;

export class AuditLog {
  readonly #store: Store;
  readonly #onEntry: (entry: AuditEntry) => void;
  #lastKey: number;
  #failed = { minute: 0, count: 0, leftOut: 0 };

  constructor(store: Store, onEntry: (entry: AuditEntry) => void = () => {}) {
    this.#store = store;
    this.#onEntry = onEntry;
    this.#lastKey = Number(store.lastKeys("audit", { from: 0, before: lastKey, limit: 1 })[0] ?? 0);
  }

  /**
   * Returns the store's changes that write the entries: commit them with the changes that they
   * describe.
   */
  record(
    audited: readonly AuditedChange[],
    { op, by = unknownRequester }: AuditedRequest,
    nowMs: number,
  ): Change[] {
    const omitted = audited.length - auditedPerChangeMax;
    const kept =
      omitted <= 0
        ? audited
        : [
            ...audited.slice(0, auditedPerChangeMax),
            { subject: `${omitted} more`, before: null, after: null },
          ];
    return kept.map(({ subject, before, after, path = null }) => {
      const key = Math.max(this.#lastKey + 1, nowMs * keysPerMs);
      this.#lastKey = key;
      const texts = [JSON.stringify(before ?? null), JSON.stringify(after ?? null)];
      const value = [nowMs, by.who, by.from, op, subject, ...texts, by.requestId, path];
      this.#onEntry(entryOf(key, value)!);
      return { table: "audit", key, value };
    });
  }

  /**
   * Records a failed sign-in. Beyond a rate, failures are only counted, so that strangers can't
   * fill the log.
   */
  failedSignIn(reason: string, request: AuditedRequest, nowMs: number): Change[] {
    const minute = Math.floor(nowMs / 60_000);
    if (minute !== this.#failed.minute) this.#failed = { ...this.#failed, minute, count: 0 };
    if (this.#failed.count >= failedPerMinute) {
      this.#failed.leftOut++;
      return [];
    }
    const { leftOut } = this.#failed;
    this.#failed.count++;
    this.#failed.leftOut = 0;
    const after = { reason, ...(leftOut === 0 ? {} : { failures_left_out: leftOut }) };
    return this.record([{ subject: "dashboard", before: null, after }], request, nowMs);
  }

  /** The next removals of entries that are too old or too many. */
  trim(nowMs: number, retentionDays: number): Change[] {
    const isFull = (this.#store.usedBytes("audit") ?? 0) > auditBytesMax;
    const old = Math.max(0, nowMs - retentionDays * dayMs) * keysPerMs;
    const range = { from: 0, before: isFull ? lastKey : old, limit: removalsMax };
    return this.#store
      .keys("audit", range)
      .map((key) => ({ table: "audit", key, value: undefined }));
  }

  /** A page of entries, newest first. A page before the last one may be short, even empty. */
  list(query: AuditQuery, nowMs: number): AuditPage {
    const { fromMs, beforeMs, after, limit } = query;
    const before = Math.min(after ?? lastKey, (beforeMs ?? lastKey) * keysPerMs);
    const range = { from: fromMs * keysPerMs, before, limit: examinedMax };
    const keys = before <= range.from ? [] : this.#store.lastKeys("audit", range);
    const entries: AuditEntry[] = [];
    for (const key of keys) {
      const value = this.#store.get("audit", key);
      if (value === undefined) continue;
      const entry = entryOf(key, value) ?? throwMalformed(this.#store, "audit", key);
      if (!isListed(entry, value[pathIndex], query)) continue;
      entries.push(entry);
      if (entries.length === limit) break;
    }
    const last = entries.length === limit ? entries.at(-1)!.id : keys.at(-1);
    const isLast = entries.length < limit && keys.length < examinedMax;
    return {
      entries,
      server_time: formatMillis(nowMs),
      next: isLast || last === undefined ? null : String(last),
    };
  }
}

/** Reads an entry that `record` wrote; null for anything else. */
export function entryOf(key: string | number, value: readonly unknown[]): AuditEntry | null {
  const [atMs, who, from, operation, subject, before, after, requestId] = value;
  if (!isMoment(atMs) || typeof before !== "string" || typeof after !== "string") return null;
  const [beforeValue, afterValue] = [parseJson(before), parseJson(after)];
  if (beforeValue === undefined || afterValue === undefined) return null;
  return {
    id: String(key),
    time: formatMillis(atMs),
    who: String(who),
    from: String(from),
    operation: String(operation),
    subject: String(subject),
    before: beforeValue,
    after: afterValue,
    request_id: requestId === "" ? null : String(requestId),
  };
}

/** Which entries a list shows. `texts`: parts of an entry's texts, in lower case. */
interface AuditQuery {
  readonly fromMs: number;
  readonly beforeMs: number | null;
  readonly after: number | null;
  readonly limit: number;
  readonly texts: ReadonlyMap<"who" | "subject" | "operation", string>;
  /** Only changes on this path and below it; `/`: all. */
  readonly userPath: string;
}

function isListed(entry: AuditEntry, path: unknown, { texts, userPath }: AuditQuery): boolean {
  if (userPath !== "/" && !(typeof path === "string" && isPathWithin(path, userPath))) return false;
  for (const [field, text] of texts) if (!entry[field].toLowerCase().includes(text)) return false;
  return true;
}

/** The body: {from?, to?, who?, subject?, operation?, user_path?, limit?, after?}. */
export function parseAuditQuery(body: unknown): Checked<AuditQuery> {
  const fieldNames = ["from", "to", "who", "subject", "operation", "user_path", "limit", "after"];
  const fields = asQuery(body, fieldNames);
  if (!fields.ok) return fields;
  const { limit, after } = fields.value;
  const from = parseMoment(fields.value["from"], "from");
  if (!from.ok) return from;
  const to = parseMoment(fields.value["to"], "to");
  if (!to.ok) return to;
  const size = parseLimit(limit);
  if (!size.ok) return size;
  const path = parsePathFilter(fields.value["user_path"]);
  if (!path.ok) return path;
  const position = parsePosition(after);
  if (!position.ok) return position;
  const texts = new Map<"who" | "subject" | "operation", string>();
  for (const field of ["who", "subject", "operation"] as const) {
    const text = fields.value[field];
    if (isAbsent(text)) continue;
    if (typeof text !== "string" || text.length > filterCharsMax)
      return bad(`${field} must be a text of up to ${filterCharsMax} characters`, field);
    texts.set(field, text.toLowerCase());
  }
  return good({
    fromMs: from.value ?? 0,
    beforeMs: to.value,
    after: position.value,
    limit: size.value,
    texts,
    userPath: path.value,
  });
}
