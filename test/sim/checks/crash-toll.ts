/**
 * What is left of the truth when the daemon dies (docs/architecture.md, "What is on disk"): settles
 * that are on the disk stay, the others have never been; a request is certain if a snapshot or its
 * settle's journal entry holds it, otherwise doubtful until its proxy tells of it again. The same
 * goes for each attempt at a target.
 */
import type { SettledPart } from "../../../shared/wire/message.js";
import type { CountedRequest, CountedTokens } from "./truth.js";

export interface WitnessedRequest extends CountedRequest {
  readonly proxyId: string;
  readonly lease: number;
  /** Of the admission, or of the reroute to this target. */
  readonly lsn: number;
  /** Let through unasked: it was counted with its settle. */
  readonly unasked: boolean;
  /** In which it was admitted. */
  readonly life: number;
  /** Where it was counted last: at its admission, or when it was told again. */
  countedLife: number;
  countedTick: number;
  /** Told again, or withdrawn, after this life's first snapshot had begun. */
  late: boolean;
  /**
   * A snapshot was written without it, and the daemon died before another held it: nothing can tell
   * any more that it is missing (a known gap).
   */
  lost: boolean;
  /** The settle that ended it, or 0. */
  seq: number;
  /** What it was before it was withdrawn, and when that was. */
  wasCertain: boolean;
  withdrawnTick: number;
  /**
   * The daemon had chosen this target in an answer that came too late, and no settle names it: its
   * withdrawal is in memory alone.
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
export function survivors(
  requests: readonly WitnessedRequest[],
  charges: readonly WitnessedCharge[],
  death: DeathOf,
): Toll {
  const { life, hasSnapshots, coveredTick, durable } = death;
  const toll: Toll = {
    requests: [],
    charges: charges.filter(({ proxyId, seq }) => seq <= durable(proxyId)),
    gone: [],
  };
  for (const request of requests) {
    const journaled = request.seq !== 0 && request.seq <= durable(request.proxyId);
    if (request.unasked && !journaled) {
      toll.gone.push(request);
      continue;
    }
    if (!journaled) request.seq = 0;
    if (request.withdrawn && !survivesWithdrawn(request, journaled, death)) continue;
    toll.requests.push(request);
    if (request.withdrawn) continue;
    if (!request.certain && hasSnapshots) request.lost = true;
    if (request.countedLife !== life || request.countedTick <= coveredTick) continue;
    if (request.late) request.lost = true;
    request.certain = journaled && !request.lost;
  }
  return toll;
}

/** False: it is in no window, for good. */
function survivesWithdrawn(
  request: WitnessedRequest,
  journaled: boolean,
  { coveredTick }: DeathOf,
): boolean {
  const covered = request.withdrawnTick <= coveredTick;
  if (request.unnamed) {
    if (covered) return false;
    Object.assign(request, { withdrawn: false, certain: false, lost: true });
    return true;
  }
  if (!journaled) {
    // It comes again with its settle; until then it may be in a window.
    Object.assign(request, { withdrawn: false, certain: request.wasCertain });
    return true;
  }
  if (request.late && !covered) request.lost = true;
  request.certain = !request.lost;
  return request.lost;
}
