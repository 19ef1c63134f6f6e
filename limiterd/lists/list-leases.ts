/**
 * The requests in flight, for GET /admin/in-flight (docs/reference/admin-api.md): which paths hold
 * slots, at which targets, and since when.
 */
import type { LeaseItem, LeasePage } from "../../shared/api/lease-item.js";
import { targetName } from "../../shared/domain/target-name.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { formatMillis } from "../../shared/time.js";
import type { HeldLease, PeerState } from "../peer.js";
import { type ListQuery, matches } from "./list-query.js";

/** One request in flight, identified by its proxy and its lease's number there. */
interface InFlight {
  readonly proxyId: string;
  readonly lease: number;
  readonly held: HeldLease;
}

/** Where a page begins: after the request with this time, proxy and lease. */
type Place = Pick<InFlight, "proxyId" | "lease"> & { readonly atMs: number };

/** One page, the longest running first, without submissions, which hold no slot. */
export function listLeases(peers: Iterable<PeerState>, query: ListQuery, nowMs: number): LeasePage {
  const from = placeAtCursor(query.after);
  const first: InFlight[] = [];
  let hasMore = false;
  /** Requests that were admitted later than this aren't on the page. */
  let latestMs = Number.POSITIVE_INFINITY;
  for (const { proxy, leases } of peers) {
    if (proxy === null) continue;
    for (const [lease, held] of leases.entries()) {
      const inFlight = { proxyId: proxy.id, lease, held };
      if (held.submission || !isFound(held, query)) continue;
      if (held.admittedAtMs > latestMs) {
        hasMore = true;
        continue;
      }
      if (from !== null && compare(placeIn(inFlight), from) <= 0) continue;
      first.push(inFlight);
      // Sorting only now and then is faster than keeping the list in order.
      if (!keepFirst(first, query.limit, 4 * query.limit)) continue;
      hasMore = true;
      latestMs = first.at(-1)!.held.admittedAtMs;
    }
  }
  hasMore = keepFirst(first, query.limit, 0) || hasMore;
  const last = first.at(-1);
  return {
    in_flight: first.map((inFlight) => leaseItem(inFlight, nowMs)),
    server_time: formatMillis(nowMs),
    next: hasMore && last !== undefined ? cursorText(placeIn(last)) : null,
  };
}

/**
 * If there are more than `max`, sorts them and keeps the first `limit`. Returns whether any were
 * dropped.
 */
function keepFirst(list: InFlight[], limit: number, max: number): boolean {
  if (list.length <= max) return false;
  list.sort((a, b) => compare(placeIn(a), placeIn(b)));
  return list.splice(limit).length > 0;
}

function isFound({ userPath, target }: HeldLease, query: ListQuery): boolean {
  if (!isPathWithin(userPath, query.userPath)) return false;
  return matches(query, userPath) || (target !== null && matches(query, targetName(target)));
}

function placeIn({ proxyId, lease, held }: InFlight): Place {
  return { atMs: held.admittedAtMs, proxyId, lease };
}

function compare(a: Place, b: Place): number {
  if (a.atMs !== b.atMs) return a.atMs - b.atMs;
  if (a.proxyId !== b.proxyId) return a.proxyId < b.proxyId ? -1 : 1;
  return a.lease - b.lease;
}

function cursorText({ atMs, proxyId, lease }: Place): string {
  return `${atMs}.${lease}.${proxyId}`;
}

/** The place that a cursor names; any other text starts from the beginning. */
function placeAtCursor(after: string | null): Place | null {
  const [, atMs, lease, proxyId] = /^(\d{1,15})\.(\d{1,15})\.(.*)$/.exec(after ?? "") ?? [];
  return proxyId === undefined ? null : { atMs: Number(atMs), lease: Number(lease), proxyId };
}

function leaseItem({ proxyId, lease, held }: InFlight, nowMs: number): LeaseItem {
  const { userPath, target, admittedAtMs } = held;
  return {
    proxy: proxyId,
    lease,
    user_path: userPath,
    target: target === null ? null : targetName(target),
    ...(admittedAtMs === 0
      ? { admitted_at: null, seconds: null }
      : {
          admitted_at: formatMillis(admittedAtMs),
          seconds: Math.max(0, Math.floor((nowMs - admittedAtMs) / 1000)),
        }),
  };
}
