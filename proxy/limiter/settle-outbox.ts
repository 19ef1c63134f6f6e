/**
 * The settles that the daemon hasn't acknowledged: numbered, ordered, bounded. Each is sent when it
 * is added, and again after every reconnect until it is acknowledged. They are sent in windows, so
 * that admissions get their turn during a long backlog.
 *
 * Not here: when to settle, which the limiter client decides.
 */
import {
  acknowledgementWaitMs,
  settleOutboxMax,
  settlesKeptAsTheyAre,
  settlesPerWindow,
  settlesUnacknowledgedMax,
} from "../../shared/bounds.js";
import { type Execution, recordKind } from "../../shared/wire/execution.js";
import { isUnnumbered } from "../../shared/wire/lsn.js";
import type { Lease, Settle, SettledPart } from "../../shared/wire/message-to-daemon.js";
import type { Admission, SpentUsage, UnadmittedUsage } from "./admission.js";
import { assertLimiter } from "./broken-limiter-state.js";
import type { DaemonConnection, LimiterClientPorts } from "./daemon-connection.js";

export const nothingSpent: SpentUsage = { tokens: 0, estimated: false, record: null };
export const noTarget = {
  target: null,
  targetAtMs: 0,
  targetLsn: 0,
  targetStartedMonoMs: undefined,
} as const;

type SettleOutboxPorts = Pick<LimiterClientPorts, "monoMs" | "schedule" | "onDropped">;

/** The maximum number of settles in flight. */
export interface SettleWindow {
  /** Settles sent before the kernel has accepted all of them. */
  readonly settles: number;
  /** Settles sent after the last acknowledged one. */
  readonly unacknowledged: number;
}

const usualWindow: SettleWindow = {
  settles: settlesPerWindow,
  unacknowledged: settlesUnacknowledgedMax,
};

export class SettleOutbox {
  readonly #ports: SettleOutboxPorts;
  readonly #connection: DaemonConnection;
  readonly #window: SettleWindow;
  readonly #backlog = new SettleBacklog();
  #dropped = 0;
  /** The first settle not yet sent on this connection. */
  #nextSeq = 1;
  #emptyCallbacks: (() => void)[] = [];
  /** Settles that may be sent before the kernel has accepted the earlier ones. */
  #leftInWindow: number;
  /** The last number that may be sent before the next acknowledgement. */
  #allowedSeq = 0;
  #waitsForAcknowledgement = false;
  /** The last number ever sent, and when. */
  #sentSeq = 0;
  #sentMonoMs = 0;
  /** The number of this connection: callbacks of an earlier one open no window here. */
  #connections = 0;

  constructor(
    ports: SettleOutboxPorts,
    connection: DaemonConnection,
    window: SettleWindow = usualWindow,
  ) {
    this.#ports = ports;
    this.#connection = connection;
    this.#window = window;
    this.#leftInWindow = window.settles;
  }

  get size(): number {
    return this.#backlog.size;
  }

  /** The number of settles dropped at the bound. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Settles or withdraws a request. Its slots are freed without waiting for a backlog. */
  end(part: "request" | "withdrawn", admission: Admission, spent: SpentUsage): void {
    this.add(part, admission, spent);
    const connection = this.#connection;
    const waits = this.#nextSeq <= this.#backlog.lastSeq;
    if (waits && connection.linked && hasAllVerdicts(admission))
      connection.send({ kind: "release", id: admission.lease });
  }

  /** Settles usage that had no admission. */
  addUnadmitted({ userPath, startedMonoMs, estimated, record }: UnadmittedUsage): void {
    const unleased = { lease: 0, userPath, admittedAtMs: 0, lsn: 0, ...noTarget, startedMonoMs };
    this.add("cached", unleased, { tokens: 0, estimated, record });
  }

  /** Settles the final usage of a request that ended long ago. */
  addFinal(record: Execution): void {
    const unleased = { lease: 0, userPath: "/", admittedAtMs: 0, lsn: 0, ...noTarget };
    const settled = { ...unleased, startedMonoMs: this.#ports.monoMs() };
    this.add("final", settled, { tokens: 0, estimated: false, record });
  }

  /**
   * Numbers a settle of what ends now, queues it, and sends it if allowed; at the bound the oldest
   * is dropped.
   */
  add(part: SettledPart, settled: SettledLease, spent: SpentUsage): void {
    const endedMonoMs = this.#ports.monoMs();
    this.#backlog.add({
      seq: this.#backlog.lastSeq + 1,
      part,
      lease: settled.lease,
      userPath: settled.userPath,
      admittedAtMs: settled.admittedAtMs,
      lsn: settled.lsn,
      target: settled.target,
      targetAtMs: settled.targetAtMs,
      targetLsn: settled.targetLsn,
      targetStartedMonoMs: settled.targetStartedMonoMs,
      startedMonoMs: settled.startedMonoMs,
      endedMonoMs,
      tokens: spent.tokens,
      estimated: spent.estimated,
      record: spent.record,
    });
    if (this.size > settleOutboxMax) {
      this.#removeUntil(this.#backlog.firstSeq);
      this.#dropped++;
      this.#ports.onDropped();
    }
    if (this.#connection.takesSettles) this.#send(endedMonoMs);
  }

  /**
   * Starts sending all settles to a daemon that has welcomed this proxy, or that accepts only
   * settles.
   */
  onWelcome(nowMonoMs: number): void {
    this.#allowedSeq = this.#backlog.firstSeq - 1 + this.#window.unacknowledged;
    this.#send(nowMonoMs);
  }

  /** Sends unacknowledged settles again on the next connection. */
  onDisconnect(): void {
    this.#connections++;
    this.#nextSeq = this.#backlog.firstSeq;
    this.#leftInWindow = this.#window.settles;
  }

  /** Drops all settles up to `seq`: they are durable. */
  acknowledge(seq: number, nowMonoMs: number): void {
    this.#removeUntil(seq);
    this.#allowedSeq = Math.max(this.#allowedSeq, seq + this.#window.unacknowledged);
    if (this.size > 0) {
      if (this.#connection.takesSettles) this.#send(nowMonoMs);
      return;
    }
    const callbacks = this.#emptyCallbacks;
    this.#emptyCallbacks = [];
    for (const run of callbacks) run();
  }

  /** All settles, to be written to a file; after this, none is added, sent or acknowledged. */
  unacknowledged(nowMonoMs: number): UnacknowledgedSettles {
    const wasSent = this.size > 0 && this.#backlog.firstSeq <= this.#sentSeq;
    return {
      count: this.size,
      settles: settleMessages(this.#backlog, nowMonoMs),
      sentAgoMs: wasSent ? nowMonoMs - this.#sentMonoMs : null,
    };
  }

  /** Resolves once no settle is left, or after `ms`. */
  untilDrained(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.size === 0) return resolve();
      this.#emptyCallbacks.push(resolve);
      this.#ports.schedule(ms, resolve);
    });
  }

  /** Sends the settles that fit into the window, ordered by number. */
  #send(nowMonoMs: number): void {
    const connection = this.#connection;
    while (this.#nextSeq <= this.#backlog.lastSeq && this.#leftInWindow > 0) {
      const seq = this.#nextSeq;
      if (seq > this.#allowedSeq) return this.#awaitAcknowledgement();
      this.#nextSeq++;
      connection.send(settleMessage(this.#backlog.settleAt(seq), nowMonoMs));
      if (seq > this.#sentSeq) this.#sentSeq = seq;
      this.#sentMonoMs = nowMonoMs;
      if (--this.#leftInWindow === 0) this.#openWindowWhenSent();
    }
  }

  #openWindowWhenSent(): void {
    const connection = this.#connections;
    this.#connection.whenSent(() => {
      if (connection !== this.#connections) return;
      this.#leftInWindow = this.#window.settles;
      this.#send(this.#ports.monoMs());
    });
  }

  #awaitAcknowledgement(): void {
    if (this.#waitsForAcknowledgement) return;
    this.#waitsForAcknowledgement = true;
    const allowed = this.#allowedSeq;
    this.#ports.schedule(acknowledgementWaitMs, () => {
      this.#waitsForAcknowledgement = false;
      if (!this.#connection.takesSettles) return;
      if (this.#allowedSeq === allowed) this.#allowedSeq += this.#window.unacknowledged;
      this.#send(this.#ports.monoMs());
    });
  }

  #removeUntil(seq: number): void {
    this.#backlog.removeUntil(seq);
    this.#nextSeq = Math.max(this.#nextSeq, this.#backlog.firstSeq);
  }
}

/** If a verdict may still arrive, the settle must contain the lease. */
function hasAllVerdicts({ lsn, submission, target, targetLsn }: Admission): boolean {
  if (isUnnumbered(lsn)) return false;
  return submission || (target !== null && !isUnnumbered(targetLsn));
}

/** The settled lease; an admission is one. */
interface SettledLease extends Omit<Lease, "submission"> {
  readonly startedMonoMs: number;
  readonly targetStartedMonoMs?: number | undefined;
}

/**
 * Contains only the fields of the message: anything else that it references would stay in memory
 * until the acknowledgement.
 */
export interface QueuedSettle extends SettledLease, SpentUsage {
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

/**
 * The queue, ordered by number. The first thousands of settles are objects; those of a longer
 * backlog are bytes, in blocks, at half of the memory.
 */
export class SettleBacklog {
  readonly #blocks: Block[] = [];
  /** The number of the first settle in the first block. */
  #blocksFromSeq = 1;
  #firstSeq = 1;
  #lastSeq = 0;
  /** The block of bytes that was last converted. */
  #lastRead: { readonly block: Buffer; readonly settles: readonly QueuedSettle[] } | null = null;

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

  /** The settle with a number that is still queued. */
  settleAt(seq: number): QueuedSettle {
    assertLimiter(
      this.#firstSeq <= seq && seq <= this.#lastSeq,
      "only a settle that waits is read",
    );
    const index = seq - this.#blocksFromSeq;
    const block = this.#blocks[Math.floor(index / blockSettles)]!;
    return this.#settlesOf(block)[index % blockSettles]!;
  }

  *[Symbol.iterator](): Generator<QueuedSettle, void> {
    for (let seq = this.#firstSeq; seq <= this.#lastSeq; seq++) yield this.settleAt(seq);
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
    this.#lastRead = null;
  }

  #settlesOf(block: Block): readonly QueuedSettle[] {
    if (!Buffer.isBuffer(block)) return block;
    if (this.#lastRead?.block !== block) this.#lastRead = { block, settles: fromBytes(block) };
    return this.#lastRead.settles;
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
    const [seq, part, lease, userPath, admittedAtMs, lsn, provider, model, ...furtherFields] =
      fields;
    const [targetAtMs, targetLsn, startedMonoMs, endedMonoMs, tokens, estimated, ...last] =
      furtherFields;
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
    startedAgoMs: millisecondsAgo(item.startedMonoMs, nowMonoMs),
    endedAgoMs: millisecondsAgo(item.endedMonoMs, nowMonoMs),
    targetStartedAgoMs:
      item.targetStartedMonoMs === undefined
        ? undefined
        : millisecondsAgo(item.targetStartedMonoMs, nowMonoMs),
    tokens: item.tokens,
    estimated: item.estimated,
    record: item.record,
  };
}

function millisecondsAgo(thenMonoMs: number, nowMonoMs: number): number {
  return Math.max(0, Math.round(nowMonoMs - thenMonoMs));
}
