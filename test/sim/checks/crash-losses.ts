/**
 * The part of the truth that is left when the daemon dies (docs/contributing/storage.md). Counts,
 * withdrawals and settles of batches on the disk stay; the rest never happened. A lost request
 * counts again once its proxy reports it, and so does each attempt at a target.
 */
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import type { CountedRequest, CountedTokens } from "./truth.js";

export interface WitnessedRequest extends CountedRequest {
  readonly proxyId: string;
  readonly lease: number;
  /** The number of its admission, or of the reroute to this target. */
  readonly lsn: number;
  /** Whether it was sent without an admission, so that its settle counted it. */
  readonly isUnasked: boolean;
  /** The epoch in which it was admitted. */
  readonly epoch: number;
  /** The batch in which it was last counted: at its admission, or when it was reported again. */
  countedLsn: number;
  /** The batch that took it back, or null. */
  withdrawn: { readonly lsn: number; readonly wasCounted: boolean } | null;
  /** The settle that ended it, or 0. */
  seq: number;
}

export interface WitnessedCharge extends CountedTokens {
  readonly proxyId: string;
  readonly seq: number;
  readonly part: SettledPart;
}

interface Survivors {
  readonly requests: WitnessedRequest[];
  readonly charges: WitnessedCharge[];
}

export interface DaemonDeath {
  /** The last batch that is on the disk. */
  readonly durableLsn: number;
  /** The last settle of a proxy that is on the disk. */
  readonly durableSeq: (proxyId: string) => number;
}

export function survivors(
  requests: readonly WitnessedRequest[],
  charges: readonly WitnessedCharge[],
  { durableLsn, durableSeq }: DaemonDeath,
): Survivors {
  return {
    requests: requests.filter((request) => {
      const { withdrawn } = request;
      if (withdrawn !== null) {
        // A withdrawal on the disk stays. Otherwise its settle withdraws the request again.
        if (withdrawn.lsn <= durableLsn) return false;
        request.withdrawn = null;
        request.counted = withdrawn.wasCounted;
      }
      if (request.countedLsn > durableLsn) request.counted = false;
      if (request.seq > durableSeq(request.proxyId)) request.seq = 0;
      // It is counted again when its settle arrives again.
      return request.counted || !request.isUnasked;
    }),
    charges: charges.filter(({ proxyId, seq }) => seq <= durableSeq(proxyId)),
  };
}
