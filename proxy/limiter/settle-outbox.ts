/**
 * The settles that the daemon hasn't acknowledged: numbered, in order, bounded. Each is sent when
 * it is added, and again after every reconnect until it is acknowledged. What is settled when is
 * the limiter client's.
 */
import { settleOutboxMax } from "../../shared/bounds.js";
import type { Lease, Settle, SettledPart } from "../../shared/wire/message.js";
import type { DaemonConnection } from "./daemon-connection.js";
import type { Spent } from "./limiter.js";

/** What is settled; an admission is one. */
interface SettledLease extends Omit<Lease, "submission"> {
  readonly startedMonoMs: number;
}

/**
 * Holds what the message needs and nothing else: whatever else hung on it would stay in memory
 * until the acknowledgement.
 */
interface QueuedSettle extends SettledLease, Spent {
  readonly seq: number;
  readonly part: SettledPart;
  readonly endedMonoMs: number;
}

export const nothingSpent: Spent = { tokens: 0, estimated: false, record: null };

export class SettleOutbox {
  readonly #connection: DaemonConnection;
  readonly #onDropped: (settles: number) => void;
  /** In the order of their numbers. */
  readonly #items: QueuedSettle[] = [];
  #emptyCallbacks: (() => void)[] = [];
  #lastSeq = 0;

  constructor(connection: DaemonConnection, onDropped: (settles: number) => void) {
    this.#connection = connection;
    this.#onDropped = onDropped;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Numbers a settle, keeps it, and sends it if linked; at the bound the oldest is dropped. */
  add(part: SettledPart, settled: SettledLease, spent: Spent, endedMonoMs: number): void {
    const item: QueuedSettle = {
      seq: ++this.#lastSeq,
      part,
      lease: settled.lease,
      userPath: settled.userPath,
      admittedAtMs: settled.admittedAtMs,
      lsn: settled.lsn,
      target: settled.target,
      targetAtMs: settled.targetAtMs,
      targetLsn: settled.targetLsn,
      startedMonoMs: settled.startedMonoMs,
      endedMonoMs,
      tokens: spent.tokens,
      estimated: spent.estimated,
      record: spent.record,
    };
    this.#items.push(item);
    if (this.#items.length > settleOutboxMax) {
      this.#items.shift();
      this.#onDropped(1);
    }
    if (this.#connection.linked) this.#connection.send(settleMessage(item, endedMonoMs));
  }

  /** Sends all of them to a daemon that has just welcomed this proxy. */
  sendAll(nowMonoMs: number): void {
    for (const item of this.#items) this.#connection.send(settleMessage(item, nowMonoMs));
  }

  /** Forgets all up to `seq`: they are durable. */
  acknowledge(seq: number): void {
    let covered = 0;
    while (covered < this.#items.length && this.#items[covered]!.seq <= seq) covered++;
    if (covered > 0) this.#items.splice(0, covered);
    if (this.#items.length > 0) return;
    const callbacks = this.#emptyCallbacks;
    this.#emptyCallbacks = [];
    for (const run of callbacks) run();
  }

  /** Runs `run` once nothing is left, at once if nothing is. */
  whenEmpty(run: () => void): void {
    if (this.#items.length === 0) run();
    else this.#emptyCallbacks.push(run);
  }
}

/** A settle as it is sent at `nowMonoMs`, with relative times, as the two clocks may differ. */
function settleMessage(item: QueuedSettle, nowMonoMs: number): Settle {
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
