/**
 * A settle as it waits in the outbox, and as it is sent. Numbers, order and windows are the
 * outbox's.
 */
import type { Lease, Settle, SettledPart } from "../../shared/wire/message-to-daemon.js";
import type { Spent } from "./limiter.js";

/** What is settled; an admission is one. */
export interface SettledLease extends Omit<Lease, "submission"> {
  readonly startedMonoMs: number;
}

/**
 * Holds what the message needs and nothing else: whatever else hung on it would stay in memory
 * until the acknowledgement.
 */
export interface QueuedSettle extends SettledLease, Spent {
  readonly seq: number;
  readonly part: SettledPart;
  readonly endedMonoMs: number;
}

/** What the daemon hasn't acknowledged. */
export interface UnacknowledgedSettles {
  readonly count: number;
  /** In the order of their numbers, with times relative to now. */
  readonly settles: Iterable<Settle>;
  /** When one of them was last sent; null: none ever was. */
  readonly sentAgoMs: number | null;
}

export function* settleMessages(
  items: readonly QueuedSettle[],
  nowMonoMs: number,
): Generator<Settle> {
  for (const item of items) yield settleMessage(item, nowMonoMs);
}

/** A settle as it is sent at `nowMonoMs`, with relative times, as the two clocks may differ. */
export function settleMessage(item: QueuedSettle, nowMonoMs: number): Settle {
  return {
    kind: "settle",
    seq: item.seq,
    part: item.part,
    lease: item.lease,
    userPath: item.userPath,
    admittedAtMs: item.admittedAtMs,
    lsn: item.lsn,
    target: item.target,
    targetAtMs: item.targetAtMs,
    targetLsn: item.targetLsn,
    startedAgoMs: ago(item.startedMonoMs, nowMonoMs),
    endedAgoMs: ago(item.endedMonoMs, nowMonoMs),
    tokens: item.tokens,
    estimated: item.estimated,
    record: item.record,
  };
}

function ago(thenMonoMs: number, nowMonoMs: number): number {
  return Math.max(0, Math.round(nowMonoMs - thenMonoMs));
}
