/**
 * What is left of the truth when the daemon dies (docs/contributing/storage.md): what was counted,
 * withdrawn or settled in a batch that is on the disk stays, the rest never happened. A request
 * that is gone counts again once its proxy reports it, and so does each attempt at a target.
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
        // Gone for good; else its settle withdraws it again.
        if (withdrawn.lsn <= durableLsn) return false;
        request.withdrawn = null;
        request.counted = withdrawn.wasCounted;
      }
      if (request.countedLsn > durableLsn) request.counted = false;
      if (request.seq > durableSeq(request.proxyId)) request.seq = 0;
      // It is counted again when its settle arrives again.
      return request.counted || !request.unasked;
    }),
    charges: charges.filter(({ proxyId, seq }) => seq <= durableSeq(proxyId)),
  };
}
