/** A settle as a daemon of the earlier release takes it: it closes a proxy that says more. */
import type { Settle } from "../../shared/wire/message-to-daemon.js";
import { passesOverFields } from "../../shared/wire/wire-versions.js";

const unleased = { lease: 0, admittedAtMs: 0, lsn: 0, target: null, targetAtMs: 0, targetLsn: 0 };

export function asKnownTo(wireVersion: number, message: Settle): Settle {
  if (wireVersion >= passesOverFields) return message;
  const { part } = message;
  const known: Settle =
    part === "progress" || part === "untried"
      ? // Counted by no window; what has a record is recorded.
        { ...message, ...unleased, part: "cached", tokens: 0 }
      : message;
  const { record } = known;
  return {
    ...known,
    record: record === null ? null : { ...record, requestedModel: "", details: null },
    targetStartedAgoMs: undefined,
  };
}
