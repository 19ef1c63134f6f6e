/**
 * What is left of the truth when the daemon dies (docs/storage.md): settles that are on the disk
 * stay, the others never happened; a request is certain if a snapshot or the journal entry of its
 * settle holds it, otherwise uncertain until its proxy reports it again. The same goes for each
 * attempt at a target.
 */
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import type { CountedRequest, CountedTokens } from "./truth.js";

export interface WitnessedRequest extends CountedRequest {
  readonly proxyId: string;
  readonly lease: number;
  /** Of the admission, or of the reroute to this target. */
  readonly lsn: number;
  /** Sent without an admission: it was counted with its settle. */
  readonly unasked: boolean;
  /** The epoch in which it was admitted. */
  readonly epoch: number;
  /** When it was last counted: at its admission, or when it was reported again. */
  countedEpoch: number;
  countedTick: number;
  /** Reported again, or withdrawn, after this epoch's first snapshot had begun. */
  late: boolean;
  /**
   * A snapshot was written without it, and the daemon died before another held it: nothing reveals
   * any more that it is missing (docs/known-gaps.md).
   */
  lost: boolean;
  /** The settle that ended it, or 0. */
  seq: number;
  /** What it was before it was withdrawn, and when that was. */
  wasCertain: boolean;
  withdrawnTick: number;
  /**
   * The daemon had chosen this target in an answer that arrived too late, and no settle names it:
   * its withdrawal is in memory alone.
   */
  unnamed: boolean;
}

export interface WitnessedCharge extends CountedTokens {
  readonly proxyId: string;
  readonly seq: number;
  readonly part: SettledPart;
}

export interface Toll {
  readonly requests: WitnessedRequest[];
  readonly charges: WitnessedCharge[];
}

export interface DaemonDeath {
  readonly epoch: number;
  /** Whether a snapshot began in this epoch. */
  readonly hasSnapshots: boolean;
  /** Everything up to here is in a complete snapshot. */
  readonly coveredTick: number;
  /** The last settle of a proxy that is on the disk. */
  readonly durable: (proxyId: string) => number;
}

/** What is left, with each request marked as certain or not. */
export function survivors(
  requests: readonly WitnessedRequest[],
  charges: readonly WitnessedCharge[],
  death: DaemonDeath,
): Toll {
  const { epoch, hasSnapshots, coveredTick, durable } = death;
  const toll: Toll = {
    requests: [],
    charges: charges.filter(({ proxyId, seq }) => seq <= durable(proxyId)),
  };
  for (const request of requests) {
    const journaled = request.seq !== 0 && request.seq <= durable(request.proxyId);
    // It was counted with a settle that is gone, and is counted again when that arrives again.
    if (request.unasked && !journaled) continue;
    if (!journaled) request.seq = 0;
    if (request.withdrawn && !survivesWithdrawn(request, journaled, death)) continue;
    toll.requests.push(request);
    if (request.withdrawn) continue;
    if (!request.certain && hasSnapshots) request.lost = true;
    if (request.countedEpoch !== epoch || request.countedTick <= coveredTick) continue;
    if (request.late) request.lost = true;
    request.certain = journaled && !request.lost;
  }
  return toll;
}

/** False: it is in no window, for good. */
function survivesWithdrawn(
  request: WitnessedRequest,
  journaled: boolean,
  { coveredTick }: DaemonDeath,
): boolean {
  const covered = request.withdrawnTick <= coveredTick;
  if (request.unnamed) {
    if (covered) return false;
    Object.assign(request, { withdrawn: false, certain: false, lost: true });
    return true;
  }
  if (!journaled) {
    // It is withdrawn again with its settle; until then it may be in a window.
    Object.assign(request, { withdrawn: false, certain: request.wasCertain });
    return true;
  }
  if (request.late && !covered) request.lost = true;
  request.certain = !request.lost;
  return request.lost;
}
