/**
 * The details of the last requests that failed, were refused or have something that their usage
 * records lack, as proxies report them. Bounded, in memory and in the store.
 *
 * `requests`: [when it ended, report] by an ascending number.
 */
import type { AttemptItem, RequestItem, RequestPage } from "../../shared/api/request-item.js";
import { append } from "../../shared/long-lists.js";
import { formatMillis, isMoment } from "../../shared/time.js";
import { isRequestReport, type RequestReport } from "../../shared/wire/request-report.js";
import { itemsExaminedMax, type ListQuery, matches } from "../lists/list-query.js";
import type { Change, Store } from "../store/store.js";

interface KeptRequest {
  readonly atMs: number;
  readonly report: RequestReport;
}

/** Agents of sessions that are remembered. */
const agentsMax = 10_000;

export class RequestBook {
  readonly #max: number;
  /** By number, ascending. Denied callers have room of their own: anyone can send such requests. */
  readonly #denied = new Map<number, KeptRequest>();
  readonly #others = new Map<number, KeptRequest>();
  readonly #byId = new Map<string, number>();
  readonly #agents = new Map<string, string>();
  #last = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get max(): number {
    return this.#max;
  }

  get size(): number {
    return this.#denied.size + this.#others.size;
  }

  /** Reads what the store has, and returns the removal of what is too much or malformed. */
  restore(store: Pick<Store, "entries">): Change[] {
    const changes: Change[] = [];
    for (const { key, value } of store.entries("requests")) {
      const [atMs, report] = value;
      if (typeof key === "number" && isMoment(atMs) && isRequestReport(report)) {
        this.#last = Math.max(this.#last, key);
        append(changes, this.#keep(key, { atMs, report }));
      } else changes.push({ table: "requests", key, value: undefined });
    }
    return changes;
  }

  /** Keeps the details of a request; returns what to write. */
  add(report: RequestReport, atMs: number): Change[] {
    if (this.#max === 0) return [];
    const key = ++this.#last;
    const added: Change = { table: "requests", key, value: [atMs, report] };
    return [added, ...this.#keep(key, { atMs, report })];
  }

  #keep(key: number, kept: KeptRequest): Change[] {
    const isDenied = kept.report.kind === "denied";
    const ring = isDenied ? this.#denied : this.#others;
    ring.set(key, kept);
    this.#byId.set(kept.report.request_id, key);
    const max = isDenied ? Math.ceil(this.#max / 4) : this.#max;
    const removed: Change[] = [];
    for (const [oldest, { report }] of ring) {
      if (ring.size <= max) break;
      ring.delete(oldest);
      if (this.#byId.get(report.request_id) === oldest) this.#byId.delete(report.request_id);
      removed.push({ table: "requests", key: oldest, value: undefined });
    }
    return removed;
  }

  /** The latest request with this id: callers may choose their ids. */
  find(requestId: string): RequestItem | null {
    const key = this.#byId.get(requestId);
    if (key === undefined) return null;
    const kept = this.#others.get(key) ?? this.#denied.get(key);
    return kept === undefined ? null : requestItem(kept);
  }

  noteAgent(session: string, agent: string): void {
    this.#agents.delete(session);
    this.#agents.set(session, agent);
    const [oldest] = this.#agents.keys();
    if (this.#agents.size > agentsMax && oldest !== undefined) this.#agents.delete(oldest);
  }

  agentOf(session: string): string | null {
    return this.#agents.get(session) ?? null;
  }

  /** Those of the time since `fromMs`, newest first. */
  *since(fromMs: number): Generator<KeptRequest> {
    for (const [, kept] of this.#newestFirst(Number.POSITIVE_INFINITY))
      if (kept.atMs >= fromMs) yield kept;
  }

  /** One page, newest first. `after` is the number of the last examined request. */
  list(query: ListQuery, nowMs: number): RequestPage {
    const { kind } = query.chosen;
    const requests: RequestItem[] = [];
    let examined = 0;
    let last = 0;
    let next: string | null = null;
    const below = query.after === null ? Number.POSITIVE_INFINITY : Number(query.after);
    for (const [key, kept] of this.#newestFirst(below)) {
      if (requests.length === query.limit || examined++ === itemsExaminedMax) {
        next = String(last);
        break;
      }
      last = key;
      const { report } = kept;
      if ((kind === undefined || report.kind === kind) && isFound(report, query))
        requests.push(requestItem(kept));
    }
    return { requests, server_time: formatMillis(nowMs), next };
  }

  *#newestFirst(below: number): Generator<readonly [number, KeptRequest]> {
    // At most a few ten thousand numbers.
    const keys = [...this.#others.keys(), ...this.#denied.keys()];
    keys.sort((a, b) => b - a);
    for (const key of keys) {
      const kept = key < below ? (this.#others.get(key) ?? this.#denied.get(key)) : undefined;
      if (kept !== undefined) yield [key, kept];
    }
  }
}

function isFound(report: RequestReport, query: ListQuery): boolean {
  const { request_id, path, user_path, key_id, model, target, session, error_message } = report;
  const names = [request_id, path, user_path, key_id, model, target, session, error_message];
  return names.some((name) => name !== undefined && matches(query, name));
}

function requestItem({ atMs, report }: KeptRequest): RequestItem {
  return {
    request_id: report.request_id,
    time: formatMillis(atMs),
    kind: report.kind,
    status: report.status,
    outcome: report.outcome,
    method: report.method,
    path: report.path,
    user_path: report.user_path ?? null,
    key_id: report.key_id ?? null,
    client: report.client ?? null,
    agent: report.agent ?? null,
    model: report.model ?? null,
    target: report.target ?? null,
    stream: report.stream ?? null,
    session: report.session ?? null,
    trace_id: report.trace_id ?? null,
    duration_ms: report.duration_ms,
    first_byte_ms: report.first_byte_ms ?? null,
    attempts: (report.attempts ?? []).map(
      (attempt): AttemptItem => ({
        target: attempt.target,
        status: attempt.status ?? null,
        duration_ms: attempt.duration_ms,
        retry: attempt.retry ?? 0,
        reason: attempt.reason ?? null,
        provider_request_id: attempt.provider_request_id ?? null,
        error_code: attempt.error_code ?? null,
        error_message: attempt.error_message ?? null,
      }),
    ),
    error_code: report.error_code ?? null,
    error_message: report.error_message ?? null,
    rule: report.rule ?? null,
    note: report.note ?? null,
    dropped: report.dropped ?? [],
  };
}
