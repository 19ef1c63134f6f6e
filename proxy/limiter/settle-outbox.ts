/**
 * The settles that the daemon hasn't acknowledged: numbered, ordered, bounded. Each is sent when it
 * is added, and again after every reconnect until it is acknowledged. Sending in windows leaves
 * admissions their turn during a long backlog. The limiter client decides what is settled when.
 */
import {
  acknowledgementWaitMs,
  settleOutboxMax,
  settlesPerWindow,
  settlesUnacknowledgedMax,
} from "../../shared/bounds.js";
import type { Execution } from "../../shared/wire/execution.js";
import { isUnnumbered } from "../../shared/wire/lsn.js";
import type { SettledPart } from "../../shared/wire/message-to-daemon.js";
import type { DaemonConnection } from "./daemon-connection.js";
import type { Admission, Spent, UnadmittedUsage } from "./limiter.js";
import type { LimiterClientPorts, SettleWindow } from "./limiter-link.js";
import {
  SettleBacklog,
  type SettledLease,
  settleMessage,
  settleMessages,
  type UnacknowledgedSettles,
} from "./settle-backlog.js";

export const nothingSpent: Spent = { tokens: 0, estimated: false, record: null };
export const noTarget = {
  target: null,
  targetAtMs: 0,
  targetLsn: 0,
  targetStartedMonoMs: undefined,
} as const;

type SettleOutboxPorts = Pick<LimiterClientPorts, "monoMs" | "schedule" | "onDropped">;

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

  /** Settles a request. Its slots are freed without waiting for a backlog. */
  end(admission: Admission, spent: Spent, endedMonoMs: number): void {
    this.add("request", admission, spent, endedMonoMs);
    const connection = this.#connection;
    const waits = this.#nextSeq <= this.#backlog.lastSeq;
    if (waits && connection.linked && hasAllVerdicts(admission))
      connection.send({ kind: "release", id: admission.lease });
  }

  /** Settles what had no admission. */
  addUnadmitted(
    { userPath, startedMonoMs, estimated, record }: UnadmittedUsage,
    endedMonoMs: number,
  ): void {
    const unleased = { lease: 0, userPath, admittedAtMs: 0, lsn: 0, ...noTarget, startedMonoMs };
    this.add("cached", unleased, { tokens: 0, estimated, record }, endedMonoMs);
  }

  /** Settles the final usage of a request that ended long ago. */
  addFinal(record: Execution, nowMonoMs: number): void {
    const unleased = { lease: 0, userPath: "/", admittedAtMs: 0, lsn: 0, ...noTarget };
    const settled = { ...unleased, startedMonoMs: nowMonoMs };
    this.add("final", settled, { tokens: 0, estimated: false, record }, nowMonoMs);
  }

  /** Numbers a settle, queues it, and sends it if allowed; at the bound the oldest is dropped. */
  add(part: SettledPart, settled: SettledLease, spent: Spent, endedMonoMs: number): void {
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
   * Starts to send all settles to a daemon that has welcomed this proxy, or accepts only settles.
   */
  welcomed(nowMonoMs: number): void {
    this.#allowedSeq = this.#backlog.firstSeq - 1 + this.#window.unacknowledged;
    this.#send(nowMonoMs);
  }

  /** Sends unacknowledged settles again on the next connection. */
  connectionLost(): void {
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

  /** All settles, for a file; afterwards nothing is added, sent or acknowledged. */
  unacknowledged(nowMonoMs: number): UnacknowledgedSettles {
    const wasSent = this.size > 0 && this.#backlog.firstSeq <= this.#sentSeq;
    return {
      count: this.size,
      settles: settleMessages(this.#backlog, nowMonoMs),
      sentAgoMs: wasSent ? nowMonoMs - this.#sentMonoMs : null,
    };
  }

  /** Resolves once no settle is left, or after `ms`. */
  drained(ms: number): Promise<void> {
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
      connection.send(settleMessage(this.#backlog.at(seq), nowMonoMs));
      if (seq > this.#sentSeq) this.#sentSeq = seq;
      this.#sentMonoMs = nowMonoMs;
      if (--this.#leftInWindow === 0) this.#openWindowWhenSent();
    }
  }

  #openWindowWhenSent(): void {
    const opened = this.#connections;
    this.#connection.whenSent(() => {
      if (opened !== this.#connections) return;
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

/** If a verdict may still arrive, the settle needs the lease. */
function hasAllVerdicts({ lsn, submission, target, targetLsn }: Admission): boolean {
  if (isUnnumbered(lsn)) return false;
  return submission || (target !== null && !isUnnumbered(targetLsn));
}
