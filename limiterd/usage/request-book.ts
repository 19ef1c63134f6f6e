/**
 * The details of the last requests that failed, were refused or have something that their usage
 * records lack, as proxies report them. Bounded, in memory and in the store.
 *
 * `requests`: [when it ended, report] by an ascending number.
 */
import type {
  AttemptItem,
  RequestItem,
  RequestKind,
  RequestPage,
} from "../../shared/api/request-item.js";
import { isNamedWithin, recordedMessageShownTo } from "../../shared/domain/refusal-message.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { append } from "../../shared/long-lists.js";
import { formatMillis, isMoment } from "../../shared/time.js";
import {
  isRequestReport,
  type RequestReport,
  textCharsMax,
} from "../../shared/wire/request-report.js";
import { itemsExaminedMax, type ListQuery, matches } from "../lists/list-query.js";
import type { Viewer } from "../rules/limits-above.js";
import type { Change, Store } from "../store/store.js";
import type { Moments } from "./record-days.js";

interface KeptRequest {
  readonly key: number;
  readonly atMs: number;
  readonly report: RequestReport;
}

/** A place in the list: a request's time and number. */
type Place = Pick<KeptRequest, "atMs" | "key">;

const atTheEnd: Place = { atMs: Number.POSITIVE_INFINITY, key: 0 };

/** How many sessions' agents are remembered. */
const agentsMax = 10_000;
/** Requests that are examined between two turns of the event loop. */
const batchSize = 1_000;

/** The last requests of some kinds by their time. */
class Ring {
  readonly #max: number;
  /** The oldest first. Those before `#begin` are removed. */
  #kept: KeptRequest[] = [];
  #begin = 0;
  readonly #byId = new Map<string, KeptRequest>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#kept.length - this.#begin;
  }

  /**
   * Adds a request in the order of times: proxies report at different moments, so it may not be the
   * latest. Returns the requests that it removes.
   */
  add(request: KeptRequest): KeptRequest[] {
    const index = this.#indexOf(request);
    if (index === this.#kept.length) this.#kept.push(request);
    else this.#kept.splice(index, 0, request);
    this.#byId.set(request.report.request_id, request);
    const removed: KeptRequest[] = [];
    while (this.size > this.#max) removed.push(this.#kept[this.#begin++]!);
    for (const oldest of removed) {
      const id = oldest.report.request_id;
      if (this.#byId.get(id) === oldest) this.#byId.delete(id);
    }
    if (this.#begin > 1_000 && this.#begin > this.#kept.length / 2) {
      this.#kept = this.#kept.slice(this.#begin);
      this.#begin = 0;
    }
    return removed;
  }

  find(requestId: string, within: string): KeptRequest | undefined {
    const latest = this.#byId.get(requestId);
    if (latest === undefined || isWithin(latest, within)) return latest;
    for (const kept of this.newestFirst(atTheEnd))
      if (kept.report.request_id === requestId && isWithin(kept, within)) return kept;
    return undefined;
  }

  /** The requests before a place, newest first. Valid only until the next `add`. */
  *newestFirst(before: Place): Generator<KeptRequest> {
    for (let i = this.#indexOf(before) - 1; i >= this.#begin; i--) yield this.#kept[i]!;
  }

  /** The index of the first one that isn't before a place. */
  #indexOf(place: Place): number {
    let from = this.#begin;
    let to = this.#kept.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isBefore(this.#kept[middle]!, place)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function isWithin({ report }: KeptRequest, within: string): boolean {
  return isPathWithin(report.user_path ?? "/", within);
}

function isBefore(one: Place, other: Place): boolean {
  return one.atMs === other.atMs ? one.key < other.key : one.atMs < other.atMs;
}

/** Clients choose the names of their sessions: another path may have the same. */
interface NamedSession {
  readonly session: string;
  readonly userPath: string;
}

/** The texts of reports are bounded. */
function sessionId({ session, userPath }: NamedSession): string {
  return `${userPath.slice(0, textCharsMax)}\n${session.slice(0, textCharsMax)}`;
}

export class RequestBook {
  readonly #max: number;
  /** A ring of their own, so that refusals, which may be many thousand, don't displace failures. */
  readonly #failed: Ring;
  /** A ring of their own: anyone can send requests that are denied. */
  readonly #denied: Ring;
  readonly #others: Ring;
  readonly #agents = new Map<string, string>();
  #last = 0;

  constructor(max: number) {
    this.#max = max;
    this.#failed = new Ring(max);
    this.#others = new Ring(max);
    this.#denied = new Ring(Math.ceil(max / 4));
  }

  get max(): number {
    return this.#max;
  }

  get size(): number {
    return this.#failed.size + this.#others.size + this.#denied.size;
  }

  /** Reads the requests in the store. Returns changes that remove surplus and malformed ones. */
  restore(store: Pick<Store, "entries">): Change[] {
    const changes: Change[] = [];
    for (const { key, value } of store.entries("requests")) {
      const [atMs, report] = value;
      if (typeof key === "number" && isMoment(atMs) && isRequestReport(report)) {
        this.#last = Math.max(this.#last, key);
        append(changes, this.#keep({ key, atMs, report }));
      } else changes.push({ table: "requests", key, value: undefined });
    }
    return changes;
  }

  /** Keeps the details of a request; returns what to write. */
  add(report: RequestReport, atMs: number): Change[] {
    if (this.#max === 0) return [];
    const key = ++this.#last;
    const added: Change = { table: "requests", key, value: [atMs, report] };
    return [added, ...this.#keep({ key, atMs, report })];
  }

  #keep(request: KeptRequest): Change[] {
    const removed = this.#ringOf(request.report.kind).add(request);
    return removed.map(({ key }) => ({ table: "requests", key, value: undefined }));
  }

  #ringOf(kind: RequestKind): Ring {
    if (kind === "failed") return this.#failed;
    return kind === "denied" ? this.#denied : this.#others;
  }

  /**
   * The latest request with this id in a subtree: callers may choose their ids. A denied one, which
   * anyone may send, hides no other.
   */
  find(requestId: string, within = "/", viewer: Viewer = null): RequestItem | null {
    const failed = this.#failed.find(requestId, within);
    const other = this.#others.find(requestId, within);
    const isFailed = failed !== undefined && (other === undefined || isBefore(other, failed));
    const match = (isFailed ? failed : other) ?? this.#denied.find(requestId, within);
    return match === undefined ? null : requestItem(shownTo(viewer, match));
  }

  noteAgent(named: NamedSession, agent: string): void {
    const id = sessionId(named);
    this.#agents.delete(id);
    this.#agents.set(id, agent);
    const [oldest] = this.#agents.keys();
    if (this.#agents.size > agentsMax && oldest !== undefined) this.#agents.delete(oldest);
  }

  agentOf(named: NamedSession): string | null {
    return this.#agents.get(sessionId(named)) ?? null;
  }

  /** The requests since `fromMs` in batches, newest first. Others may be added between batches. */
  *since(fromMs: number): Generator<readonly KeptRequest[]> {
    let before = atTheEnd;
    for (;;) {
      const batch: KeptRequest[] = [];
      for (const request of this.#newestFirst(before)) {
        if (request.atMs < fromMs || batch.length === batchSize) break;
        batch.push(request);
      }
      if (batch.length === 0) return;
      yield batch;
      before = batch.at(-1)!;
    }
  }

  /** One page, newest first. `after` is the place of the last examined request; null if invalid. */
  list(
    query: ListQuery & Partial<Moments>,
    nowMs: number,
    viewer: Viewer = null,
  ): RequestPage | null {
    const { fromMs = null, beforeMs = null } = query;
    const end = beforeMs === null ? atTheEnd : { atMs: beforeMs, key: 0 };
    const before = query.after === null ? end : placeAtCursor(query.after);
    if (before === null) return null;
    const { kind } = query.chosen;
    const requests: RequestItem[] = [];
    let examined = 0;
    let last: Place = atTheEnd;
    let next: string | null = null;
    for (const kept of this.#newestFirst(before)) {
      if (fromMs !== null && kept.atMs < fromMs) break;
      if (requests.length === query.limit || examined++ === itemsExaminedMax) {
        next = `${last.atMs}-${last.key}`;
        break;
      }
      last = kept;
      // A search doesn't find what isn't shown.
      const shown = shownTo(viewer, kept);
      if ((kind === undefined || shown.report.kind === kind) && isFound(shown.report, query))
        requests.push(requestItem(shown));
    }
    return { requests, server_time: formatMillis(nowMs), next };
  }

  /** Merges the rings. */
  *#newestFirst(before: Place): Generator<KeptRequest> {
    const rings = [this.#failed, this.#others, this.#denied].map((ring) => {
      const iterator = ring.newestFirst(before);
      return { iterator, next: iterator.next() };
    });
    for (;;) {
      let latest: (typeof rings)[number] | null = null;
      for (const ring of rings) {
        if (ring.next.done === true) continue;
        if (latest === null || isBefore(latest.next.value!, ring.next.value)) latest = ring;
      }
      if (latest === null) return;
      yield latest.next.value!;
      latest.next = latest.iterator.next();
    }
  }
}

function placeAtCursor(after: string): Place | null {
  const match = /^(\d{1,16})-(\d{1,16})$/.exec(after);
  return match === null ? null : { atMs: Number(match[1]), key: Number(match[2]) };
}

function isFound(report: RequestReport, query: ListQuery): boolean {
  const { request_id, path, user_path, key_id, model, target, session, error_message } = report;
  if (query.userPath !== "/" && !isPathWithin(user_path ?? "/", query.userPath)) return false;
  const names = [request_id, path, user_path, key_id, model, target, session, error_message];
  return names.some((name) => name !== undefined && matches(query, name));
}

/**
 * A request as its viewer sees it: its texts may be from before `usage.show_ancestors` was off, or
 * name a limit that its caller may see and the viewer may not.
 */
export function shownTo(viewer: Viewer, request: KeptRequest): KeptRequest {
  if (viewer === null) return request;
  const { report } = request;
  const { attempts, rule } = report;
  const shown = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : recordedMessageShownTo(viewer, text);
  const isRuleShown =
    rule?.includes(" above ") === true ||
    isNamedWithin(viewer, rule?.replace(/^user_path /, "") ?? "");
  return {
    ...request,
    report: {
      ...report,
      error_message: shown(report.error_message),
      note: shown(report.note),
      rule: isRuleShown ? rule : undefined,
      attempts: attempts?.map((attempt) => ({
        ...attempt,
        reason: shown(attempt.reason),
        error_message: shown(attempt.error_message),
      })),
    },
  };
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
        delivered: attempt.delivered ?? false,
      }),
    ),
    error_code: report.error_code ?? null,
    error_message: report.error_message ?? null,
    rule: report.rule ?? null,
    note: report.note ?? null,
    dropped: report.dropped ?? [],
  };
}
