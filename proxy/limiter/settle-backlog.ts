/**
 * The queue of unacknowledged settles, ordered by number, and their conversion to messages. The
 * first thousands are objects; those of a longer backlog are bytes, in blocks, at half of the
 * memory. The outbox decides when they are sent.
 */
import { settlesKeptAsTheyAre } from "../../shared/bounds.js";
import { recordKind } from "../../shared/wire/execution.js";
import type { Lease, Settle, SettledPart } from "../../shared/wire/message-to-daemon.js";
import { assertLimiter } from "./broken-limiter-state.js";
import type { Spent } from "./limiter.js";

/** The settled lease; an admission is one. */
export interface SettledLease extends Omit<Lease, "submission"> {
  readonly startedMonoMs: number;
  readonly targetStartedMonoMs?: number | undefined;
}

/**
 * Holds only what the message needs: anything else that it references would stay in memory until
 * the acknowledgement.
 */
export interface QueuedSettle extends SettledLease, Spent {
  readonly seq: number;
  readonly part: SettledPart;
  readonly endedMonoMs: number;
}

/** The settles that the daemon hasn't acknowledged. */
export interface UnacknowledgedSettles {
  readonly count: number;
  /** Ordered by number, with times relative to now. */
  readonly settles: Iterable<Settle>;
  /** How long ago one of them was last sent; null if none ever was. */
  readonly sentAgoMs: number | null;
}

/** Converting a block to or from bytes takes about 0.5 ms. */
const blockSettles = 128;

/** A complete block as bytes, or the settles of any block. */
type Block = Buffer | QueuedSettle[];

export class SettleBacklog {
  readonly #blocks: Block[] = [];
  /** The number of the first settle in the first block. */
  #blocksFromSeq = 1;
  #firstSeq = 1;
  #lastSeq = 0;
  /** The block of bytes that was last converted. */
  #read: { readonly block: Buffer; readonly settles: readonly QueuedSettle[] } | null = null;

  get size(): number {
    return this.#lastSeq - this.#firstSeq + 1;
  }

  /** The number of the first settle; if there is none, of the next. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Appends the next settle. */
  add(settle: QueuedSettle): void {
    assertLimiter(settle.seq === this.#lastSeq + 1, "settles are numbered in their order");
    this.#lastSeq = settle.seq;
    const last = this.#blocks.at(-1);
    if (Array.isArray(last) && last.length < blockSettles) last.push(settle);
    else {
      if (Array.isArray(last) && this.size > settlesKeptAsTheyAre)
        this.#blocks[this.#blocks.length - 1] = toBytes(last);
      this.#blocks.push([settle]);
    }
  }

  /** A settle that isn't removed. */
  at(seq: number): QueuedSettle {
    assertLimiter(
      this.#firstSeq <= seq && seq <= this.#lastSeq,
      "only a settle that waits is read",
    );
    const index = seq - this.#blocksFromSeq;
    const block = this.#blocks[Math.floor(index / blockSettles)]!;
    return this.#settlesOf(block)[index % blockSettles]!;
  }

  *[Symbol.iterator](): Generator<QueuedSettle, void> {
    for (let seq = this.#firstSeq; seq <= this.#lastSeq; seq++) yield this.at(seq);
  }

  /** Removes all settles up to `seq`. */
  removeUntil(seq: number): void {
    this.#firstSeq = Math.min(Math.max(this.#firstSeq, seq + 1), this.#lastSeq + 1);
    const blocks = Math.floor((this.#firstSeq - this.#blocksFromSeq) / blockSettles);
    this.#blocks.splice(0, blocks);
    this.#blocksFromSeq += blocks * blockSettles;
    if (this.size > 0) return;
    this.#blocks.length = 0;
    this.#blocksFromSeq = this.#firstSeq;
    this.#read = null;
  }

  #settlesOf(block: Block): readonly QueuedSettle[] {
    if (!Buffer.isBuffer(block)) return block;
    if (this.#read?.block !== block) this.#read = { block, settles: fromBytes(block) };
    return this.#read.settles;
  }
}

function toBytes(settles: readonly QueuedSettle[]): Buffer {
  const text = JSON.stringify(
    settles.map((settle) => [
      settle.seq,
      settle.part,
      settle.lease,
      settle.userPath,
      settle.admittedAtMs,
      settle.lsn,
      settle.target?.provider ?? null,
      settle.target?.model ?? null,
      settle.targetAtMs,
      settle.targetLsn,
      settle.startedMonoMs,
      settle.endedMonoMs,
      settle.tokens,
      settle.estimated,
      recordKind.write(settle.record),
      settle.targetStartedMonoMs ?? null,
      ...(settle.target?.tools ?? []),
    ]),
  );
  return Buffer.from(text);
}

/** Reads the bytes of `toBytes`, unchecked: they never left the process. */
function fromBytes(bytes: Buffer): QueuedSettle[] {
  return (JSON.parse(bytes.toString()) as unknown[][]).map((fields) => {
    const [seq, part, lease, userPath, admittedAtMs, lsn, provider, model, ...others] = fields;
    const [targetAtMs, targetLsn, startedMonoMs, endedMonoMs, tokens, estimated, ...last] = others;
    const [record, targetStartedMonoMs, ...tools] = last;
    return {
      seq,
      part,
      lease,
      userPath,
      admittedAtMs,
      lsn,
      target:
        provider === null ? null : { provider, model, ...(tools.length === 0 ? {} : { tools }) },
      targetAtMs,
      targetLsn,
      startedMonoMs,
      endedMonoMs,
      tokens,
      estimated,
      record: recordKind.read(record),
      targetStartedMonoMs: targetStartedMonoMs ?? undefined,
    } as QueuedSettle;
  });
}

export function* settleMessages(
  items: Iterable<QueuedSettle>,
  nowMonoMs: number,
): Generator<Settle> {
  for (const item of items) yield settleMessage(item, nowMonoMs);
}

/** The message of a settle sent at `nowMonoMs`, with relative times: the two clocks may differ. */
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
    targetStartedAgoMs:
      item.targetStartedMonoMs === undefined ? undefined : ago(item.targetStartedMonoMs, nowMonoMs),
    tokens: item.tokens,
    estimated: item.estimated,
    record: item.record,
  };
}

function ago(thenMonoMs: number, nowMonoMs: number): number {
  return Math.max(0, Math.round(nowMonoMs - thenMonoMs));
}
