/**
 * The last refusals, so that a 429 can be explained by its request id. The daemon knows what it
 * refused and why; the proxy reports the request's id afterwards. They are only in memory: a
 * restart loses them.
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
  /** As in `Admit`. */
  readonly session?: string | undefined;
  /**
   * The targets in the order in which they were judged; those beyond a bound in bytes are left out.
   */
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

/** A refusal before the proxy has reported its request. */
type Refusal = Pick<
  RecentRefusal,
  | "atMs"
  | "proxyId"
  | "admitId"
  | "userPath"
  | "keyId"
  | "session"
  | "targets"
  | "submission"
  | "breach"
>;

/**
 * Keeps the last `max` refusals in a ring without indexes. A proxy reports the request right after
 * the refusal, so a search finds it among the newest, and only users search by request id. In a
 * burst of refusals, two maps would cost several times as much as the ring.
 */
export class RecentRefusals {
  readonly max: number;
  readonly #ring: RecentRefusal[] = [];
  #next = 0;
  #added = 0;

  constructor(max = refusalsMax) {
    this.max = max;
  }

  /** Adds a refusal; beyond the bound the oldest is dropped. */
  add(refusal: Refusal): void {
    const { atMs, proxyId, admitId, userPath, keyId, session, targets, submission, breach } =
      refusal;
    const kept = firstWithin(targets, refusalBytesMax);
    this.#ring[this.#next] = {
      atMs,
      proxyId,
      admitId,
      userPath,
      keyId,
      session,
      targets: kept,
      targetsLeftOut: targets.length - kept.length,
      submission,
      breach,
      requestId: null,
      model: null,
    };
    this.#next = (this.#next + 1) % this.max;
    this.#added++;
  }

  /** Adds the reported request to its refusal, unless the refusal was dropped. */
  name(
    proxyId: string,
    admitId: number,
    { requestId, model }: { readonly requestId: string; readonly model: string },
  ): void {
    const refusal = this.#newest(
      (candidate) => candidate.admitId === admitId && candidate.proxyId === proxyId,
    );
    if (refusal === null) return;
    refusal.requestId = requestId;
    refusal.model = model;
  }

  /**
   * The latest refusal with this request id in a subtree. Several may have the same id, because
   * callers may choose it.
   */
  find(requestId: string, within = "/"): RecentRefusal | null {
    return this.#newest(
      (refusal) => refusal.requestId === requestId && isPathWithin(refusal.userPath, within),
    );
  }

  /**
   * Refusals below this number, newest first; null: all. Numbers count the refusals since the
   * start.
   */
  *newestFirst(below: number | null): Iterable<readonly [number: number, refusal: RecentRefusal]> {
    const from = below === null || below > this.#added ? this.#added : below - 1;
    for (let number = from; number > this.#added - this.#ring.length; number--)
      yield [number, this.#ring[(number - 1) % this.max]!];
  }

  #newest(satisfies: (refusal: RecentRefusal) => boolean): RecentRefusal | null {
    const { length } = this.#ring;
    for (let back = 1; back <= length; back++) {
      const refusal = this.#ring[(this.#next - back + length) % length]!;
      if (satisfies(refusal)) return refusal;
    }
    return null;
  }
}

/** The first targets that fit, at least one. */
function firstWithin(targets: readonly Target[], bytesMax: number): readonly Target[] {
  let bytes = 0;
  for (let i = 0; i < targets.length; i++) {
    const { provider, model } = targets[i]!;
    bytes += utf8Bytes(provider) + utf8Bytes(model);
    if (i > 0 && bytes > bytesMax) return targets.slice(0, i);
  }
  return targets;
}
