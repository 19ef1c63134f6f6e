/**
 * The settles that the daemon hasn't acknowledged: numbered, in order, bounded. When they are sent,
 * and what they mean, is the limiter client's.
 */
import { settleOutboxMax } from "../../shared/bounds.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { Lease, Settle, SettledPart } from "../../shared/wire/message.js";

/**
 * Only what the settle says: whatever else hung on it would stay in memory until the
 * acknowledgement.
 */
export interface Unsettled extends Omit<Lease, "submission"> {
  readonly seq: number;
  readonly part: SettledPart;
  readonly startedMonoMs: number;
  readonly endedMonoMs: number;
  readonly tokens: number;
  readonly estimated: boolean;
  readonly record: Execution | null;
}

export interface SettleOutbox {
  /** In the order of their numbers. */
  readonly items: readonly Unsettled[];
  /** Numbers a settle and keeps it; at the bound the oldest is dropped. */
  add(settle: Omit<Unsettled, "seq">): Unsettled;
  /** Forgets all up to `seq`: they are durable. */
  acknowledge(seq: number): void;
  /** Runs `run` once nothing is left, at once if nothing is. */
  whenEmpty(run: () => void): void;
}

export function createSettleOutbox(onDropped: (settles: number) => void): SettleOutbox {
  const items: Unsettled[] = [];
  let waiters: (() => void)[] = [];
  let lastSeq = 0;
  return {
    items,
    add(settle) {
      const {
        part,
        lease,
        userPath,
        admittedAtMs,
        lsn,
        target,
        targetAtMs,
        targetLsn,
        startedMonoMs,
        endedMonoMs,
        tokens,
        estimated,
        record,
      } = settle;
      const item: Unsettled = {
        seq: ++lastSeq,
        part,
        lease,
        userPath,
        admittedAtMs,
        lsn,
        target,
        targetAtMs,
        targetLsn,
        startedMonoMs,
        endedMonoMs,
        tokens,
        estimated,
        record,
      };
      items.push(item);
      if (items.length > settleOutboxMax) {
        items.shift();
        onDropped(1);
      }
      return item;
    },
    acknowledge(seq) {
      let covered = 0;
      while (covered < items.length && items[covered]!.seq <= seq) covered++;
      if (covered > 0) items.splice(0, covered);
      if (items.length > 0) return;
      const run = waiters;
      waiters = [];
      for (const resolve of run) resolve();
    },
    whenEmpty(run) {
      if (items.length === 0) run();
      else waiters.push(run);
    },
  };
}

/**
 * A settle as it is told at `nowMonoMs`: how long ago things were, so that the two clocks needn't
 * agree.
 */
export function settleMessage(item: Unsettled, nowMonoMs: number): Settle {
  const {
    seq,
    part,
    lease,
    userPath,
    admittedAtMs,
    lsn,
    target,
    targetAtMs,
    targetLsn,
    tokens,
    estimated,
    record,
  } = item;
  return {
    kind: "settle",
    seq,
    part,
    lease,
    userPath,
    admittedAtMs,
    lsn,
    target,
    targetAtMs,
    targetLsn,
    startedAgoMs: ago(item.startedMonoMs, nowMonoMs),
    endedAgoMs: ago(item.endedMonoMs, nowMonoMs),
    tokens,
    estimated,
    record,
  };
}

function ago(thenMonoMs: number, nowMonoMs: number): number {
  return Math.max(0, Math.round(nowMonoMs - thenMonoMs));
}
