/**
 * The last refusals, so that a 429 can be explained by its request id. The daemon knows what it
 * refused and why; the proxy reports the request's id afterwards. They are only in memory and lost
 * with a restart.
 */
import { refusalBytesMax, refusalsMax } from "../../shared/bounds.js";
import type { Target } from "../../shared/domain/target-name.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";

export interface RecentRefusal {
  readonly atMs: number;
  readonly proxyId: string;
  /** The id of the refused `admit`. */
  readonly admitId: number;
  readonly userPath: string;
  /** Empty for a caller without a managed key. */
  readonly keyId: string;
  /** In the order in which they were judged; those beyond the bound in bytes are left out. */
  readonly targets: readonly Target[];
  readonly targetsLeftOut: number;
  readonly submission: boolean;
  readonly breach: Breach | BudgetBreach;
  /** Null until the proxy has reported it. */
  requestId: string | null;
  /**
   * The model as the request named it, virtual or not; empty if it named none; null until the proxy
   * has reported it.
   */
  model: string | null;
}

export interface RecentRefusals {
  /** The number of kept refusals. */
  readonly max: number;
  /** Adds a refusal; beyond the bound the oldest is dropped. */
  add(
    refused: Pick<
      RecentRefusal,
      "atMs" | "proxyId" | "admitId" | "userPath" | "keyId" | "targets" | "submission" | "breach"
    >,
  ): void;
  /** Adds the request to a refusal, unless the refusal was dropped. */
  name(
    proxyId: string,
    admitId: number,
    request: { readonly requestId: string; readonly model: string },
  ): void;
  /**
   * The latest refusal with this request id in a subtree: callers may choose their ids, so several
   * may have the same.
   */
  find(requestId: string, within?: string): RecentRefusal | null;
  /**
   * Refusals below this number, newest first; null: all. Numbers count the refusals since the
   * start.
   */
  newestFirst(below: number | null): Iterable<readonly [number: number, refusal: RecentRefusal]>;
}

/**
 * Keeps the last `max` refusals in a ring without indexes. A proxy reports the request right after
 * the refusal, so a search finds it among the newest, and only users search by request id. In a
 * burst of refusals, two maps would cost several times as much as the ring.
 */
export function createRecentRefusals(max = refusalsMax): RecentRefusals {
  const ring: RecentRefusal[] = [];
  let next = 0;
  let added = 0;

  /** The newest refusal that satisfies a condition. */
  function newest(satisfies: (refusal: RecentRefusal) => boolean): RecentRefusal | null {
    for (let back = 1; back <= ring.length; back++) {
      const refusal = ring[(next - back + ring.length) % ring.length]!;
      if (satisfies(refusal)) return refusal;
    }
    return null;
  }

  return {
    max,
    add({ atMs, proxyId, admitId, userPath, keyId, targets, submission, breach }) {
      const kept = withinBytes(targets, refusalBytesMax);
      ring[next] = {
        atMs,
        proxyId,
        admitId,
        userPath,
        keyId,
        targets: kept,
        targetsLeftOut: targets.length - kept.length,
        submission,
        breach,
        requestId: null,
        model: null,
      };
      next = (next + 1) % max;
      added++;
    },
    name(proxyId, admitId, { requestId, model }) {
      const refusal = newest((known) => known.admitId === admitId && known.proxyId === proxyId);
      if (refusal === null) return;
      refusal.requestId = requestId;
      refusal.model = model;
    },
    find: (requestId, within = "/") =>
      newest(
        (refusal) => refusal.requestId === requestId && isPathWithin(refusal.userPath, within),
      ),
    *newestFirst(below) {
      const from = below === null || below > added ? added : below - 1;
      for (let number = from; number > added - ring.length; number--)
        yield [number, ring[(number - 1) % max]!];
    },
  };
}

/** The first targets that fit, at least one. */
function withinBytes(targets: readonly Target[], bytesMax: number): readonly Target[] {
  let bytes = 0;
  for (let i = 0; i < targets.length; i++) {
    const { provider, model } = targets[i]!;
    bytes += utf8Bytes(provider) + utf8Bytes(model);
    if (i > 0 && bytes > bytesMax) return targets.slice(0, i);
  }
  return targets;
}
