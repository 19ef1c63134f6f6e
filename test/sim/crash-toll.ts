/**
 * What is left of the truth when the daemon dies (docs/architecture.md, "What is on disk"): settles that
 * are on the disk stay, the others have never been; a request is certain if a snapshot or its settle's
 * journal entry holds it, otherwise doubtful until its proxy tells of it again.
 */
import type { OracleRequest } from "../limiterd/oracle.js";
import type { CountedRequest, CountedTokens } from "./truth.js";

export interface WitnessedRequest extends CountedRequest {
  readonly proxyId: string;
  readonly lease: number;
  readonly lsn: number;
  /** Let through unasked: it was counted with its settle. */
  readonly unasked: boolean;
  /** In which it was admitted. */
  readonly life: number;
  /** Where it was counted last: at its admission, or when it was told again. */
  countedLife: number;
  countedTick: number;
  /** Told again after this life's first snapshot had begun. */
  late: boolean;
  /** A snapshot was written without it, and the daemon died before another held it: nothing can tell any more that it is missing (a known gap). */
  lost: boolean;
  /** Its proxy didn't wait for the answer: the settle that ended it names another target, or nobody. */
  elsewhere: OracleRequest | null;
  /** The settle that ended it, or 0. */
  seq: number;
}

export interface WitnessedCharge extends CountedTokens {
  readonly proxyId: string;
  readonly seq: number;
}

export interface Toll {
  readonly requests: WitnessedRequest[];
  readonly charges: WitnessedCharge[];
  /** Requests that were counted with a settle that is gone: they come again with it. */
  readonly gone: WitnessedRequest[];
}

export interface DeathOf {
  readonly life: number;
  /** Whether this life began a snapshot. */
  readonly hasSnapshots: boolean;
  /** Everything up to here is in a complete snapshot. */
  readonly coveredTick: number;
  /** The last settle of a proxy that is on the disk. */
  readonly durable: (proxyId: string) => number;
}

/** What is left, with each request marked as certain or not. */
export function survivors(requests: readonly WitnessedRequest[], charges: readonly WitnessedCharge[], { life, hasSnapshots, coveredTick, durable }: DeathOf): Toll {
  const toll: Toll = { requests: [], charges: charges.filter(({ proxyId, seq }) => seq <= durable(proxyId)), gone: [] };
  for (const request of requests) {
    const journaled = request.seq !== 0 && request.seq <= durable(request.proxyId);
    if (request.unasked && !journaled) {
      toll.gone.push(request);
      continue;
    }
    if (!journaled) request.seq = 0;
    toll.requests.push(request);
    if (!request.certain && hasSnapshots) request.lost = true;
    if (request.elsewhere !== null && journaled) {
      // The journal knows only where the settle says it was: each window there decides whether it counts it.
      toll.requests.push({ ...request, of: request.elsewhere, elsewhere: null, certain: false, lost: true });
      request.elsewhere = null;
      request.lost = true;
    }
    if (request.countedLife !== life || request.countedTick <= coveredTick) continue;
    if (request.late) request.lost = true;
    request.certain = journaled && !request.lost;
  }
  return toll;
}
