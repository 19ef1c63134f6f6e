/**
 * Implements the limiter port over one connection to the daemon. After a loss it reconnects and
 * resends its leases and all unacknowledged settles. Verdicts are in `pending-admissions.ts`.
 */

import type { LinkState } from "../../../shared/api/gateway-status.js";
import { endsPerTurn } from "../../../shared/bounds.js";
import { isCount } from "../../../shared/checked.js";
import type { FailureMode } from "../../../shared/config/config.js";
import type { LoopTimes } from "../../../shared/domain/loop-rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { IdMap } from "../../../shared/id-map.js";
import { createThrottledQueue } from "../../../shared/throttled-queue.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type {
  Failed,
  FromDaemon,
  UnknownEvent,
  Welcome,
} from "../../../shared/wire/message-from-daemon.js";
import type { AskedBy, Claimed, Metered } from "../../../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../../../shared/wire/wire-versions.js";
import { DaemonCalls } from "../daemon-calls.js";
import {
  DaemonConnection,
  type DaemonLine,
  type LimiterClientPorts,
} from "../daemon-connection.js";
import { applyEvent, applyWelcome, createNotices } from "../daemon-notices.js";
import {
  type Admission,
  type AdmissionOutcome,
  type Asked,
  type AuthorizeOutcome,
  assertLimiter,
  assertRuns,
  type CallOutcome,
  type Limiter,
  type LimitReport,
  type Spent,
  type Unadmitted,
  type UnadmittedUsage,
} from "../limiter.js";
import {
  noTarget,
  nothingSpent,
  SettleOutbox,
  type SettleWindow,
  type UnacknowledgedSettles,
} from "../settle-outbox.js";
import { type AdmissionRequest, PendingAdmissions } from "./pending-admissions.js";
import { PendingDraws } from "./pending-draws.js";
import { helloMessages, UnreportedAdmissions } from "./report-leases.js";

export interface LimiterClientOptions {
  readonly deadlineMs: number;
  readonly failureMode: FailureMode;
  readonly settleWindow?: SettleWindow | undefined;
  /** The versions that this proxy supports; by default those of this release. */
  readonly wireVersions?: WireVersions | undefined;
}

const nothingAsked: Asked = {};

export class LimiterClient implements Limiter {
  readonly #ports: LimiterClientPorts;
  readonly #connection: DaemonConnection;
  readonly #notices = createNotices();
  /** Unsettled admissions by lease. */
  readonly #held = new IdMap<Admission>();
  readonly #unreported: UnreportedAdmissions;
  readonly #pending: PendingAdmissions;
  readonly #draws: PendingDraws;
  readonly #outbox: SettleOutbox;
  readonly #calls: DaemonCalls;
  /** Runs a callback once the messages of this turn of the event loop have been sent. */
  readonly #afterSending: (run: () => void) => void;
  readonly #expiryIntervalMs: number;
  #expiryScheduled = false;

  constructor(ports: LimiterClientPorts, options: LimiterClientOptions) {
    const { deadlineMs, failureMode, settleWindow, wireVersions } = options;
    const monoMs = (): number => ports.monoMs();
    this.#ports = ports;
    this.#connection = new DaemonConnection(ports, deadlineMs, wireVersions);
    this.#outbox = new SettleOutbox(ports, this.#connection, settleWindow);
    const shared = {
      connection: this.#connection,
      held: this.#held,
      outbox: this.#outbox,
      monoMs,
    };
    this.#unreported = new UnreportedAdmissions(shared);
    this.#pending = new PendingAdmissions({
      ...shared,
      notices: this.#notices,
      unreported: this.#unreported,
      failureMode,
    });
    this.#draws = new PendingDraws({ ...shared, failureMode });
    this.#calls = new DaemonCalls(this.#connection, monoMs);
    this.#afterSending = createThrottledQueue((run) => ports.afterTurn(run), endsPerTurn);
    this.#expiryIntervalMs = Math.max(10, deadlineMs / 10);
  }

  get state(): LinkState {
    return this.#connection.state;
  }
  get reachable(): boolean {
    return this.state === "connected";
  }
  get unsettled(): number {
    return this.#outbox.size;
  }
  get dropped(): number {
    return this.#outbox.dropped;
  }
  get limited(): boolean {
    return this.#notices.limited;
  }
  get hardLimits(): boolean {
    return this.#notices.hardLimits;
  }
  get loopTimes(): LoopTimes | null {
    return this.#notices.loopTimes;
  }
  get inertRules(): number | null {
    return this.#notices.inertRules;
  }
  get inertBudgets(): number | null {
    return this.#notices.inertBudgets;
  }
  get storeFailing(): string | null {
    return this.#notices.storeFailing;
  }
  get clusterFailing(): string | null {
    return this.#notices.clusterFailing;
  }
  get lastBackupMs(): number | null {
    return this.#notices.lastBackupMs;
  }
  get keysExist(): boolean | null {
    return this.#notices.keysExist;
  }
  get importedKeysExist(): boolean | null {
    return this.#notices.importedKeysExist;
  }

  isDeniedJwt(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean {
    return this.#notices.deniedJwts.has(claims, nowMs);
  }

  admit(
    caller: Claimed,
    targets: readonly Target[],
    submission = false,
    { modelNames, uses, fixed, metered, wait }: Asked = nothingAsked,
  ): Promise<AdmissionOutcome> {
    assertLimiter(targets.length > 0, "an admission has a target");
    const startedMonoMs = this.#ports.monoMs();
    const asked: AdmissionRequest = {
      caller,
      targets,
      rerouted: null,
      submission,
      startedMonoMs,
      modelNames,
      uses,
      fixed,
      metered,
      wait,
    };
    return this.#inTime(this.#pending.ask(asked));
  }

  async refusal(caller: Claimed, submission: boolean): Promise<Unadmitted | null> {
    const startedMonoMs = this.#ports.monoMs();
    const asked = { caller, targets: [], rerouted: null, submission, startedMonoMs };
    const outcome = await this.#inTime(this.#pending.ask(asked));
    return outcome.kind === "admitted" ? null : outcome;
  }

  reroute(
    admission: Admission,
    targets: readonly Target[],
    metered?: Metered,
  ): Promise<AdmissionOutcome> {
    assertRuns(admission);
    assertLimiter(targets.length > 0, "a rerouted request has a target");
    const startedMonoMs = this.#ports.monoMs();
    this.#outbox.add("attempt", admission, nothingSpent, startedMonoMs);
    Object.assign(admission, noTarget);
    const caller: Claimed = { userPath: admission.userPath, credential: "authenticated" };
    const asked = { caller, targets, rerouted: admission, submission: false, startedMonoMs };
    return this.#inTime(this.#pending.ask({ ...asked, metered }));
  }

  draw(admission: Admission, total: number, then: () => void): void {
    assertRuns(admission);
    const { metering } = admission;
    assertLimiter(metering !== undefined, "a hard cap counts the request");
    this.#draws.ask(admission, metering, total, then);
    this.#scheduleExpiry();
  }

  authorize(credential: string): Promise<AuthorizeOutcome> {
    return this.#inTime(this.#calls.authorize(credential));
  }

  progress(admission: Admission, spent: Spent): void {
    assertRuns(admission);
    this.#outbox.add("progress", admission, spent, this.#ports.monoMs());
  }

  settle(admission: Admission, spent: Spent, then: () => void): void {
    assertLimiter(!admission.settled, "one settle per admission");
    assertLimiter(isCount(spent.tokens), "a count of tokens is an integer");
    admission.settled = true;
    if (admission.lease !== 0) this.#held.take(admission.lease);
    if (admission.metering !== undefined) this.#draws.forget(admission.lease);
    if (this.#unreported.admissions.size > 0) this.#unreported.delete(admission);
    this.#outbox.end(admission, spent, this.#ports.monoMs());
    this.#afterSending(then);
  }

  settleUnadmitted(answered: UnadmittedUsage, then: () => void): void {
    this.#outbox.addUnadmitted(answered, this.#ports.monoMs());
    this.#afterSending(then);
  }

  settleFinal(record: Execution): void {
    this.#outbox.addFinal(record, this.#ports.monoMs());
  }

  noteRefusal(id: number, requestId: string, model: string): void {
    if (this.#connection.linked) this.#connection.send({ kind: "refusal", id, requestId, model });
  }

  report(report: LimitReport): void {
    if (this.#connection.linked) this.#connection.send({ kind: "reported", ...report });
  }

  call(op: AdminOp, body: unknown, by?: AskedBy): Promise<CallOutcome> {
    return this.#inTime(this.#calls.operate(op, body, by));
  }

  drained(ms: number): Promise<void> {
    return this.#outbox.drained(ms);
  }

  /** The settles without an acknowledgement. Call it once the connection is closed. */
  unacknowledged(): UnacknowledgedSettles {
    return this.#outbox.unacknowledged(this.#ports.monoMs());
  }

  /** The socket is open; says hello. */
  connected(line: DaemonLine): void {
    this.#connection.connected(line);
    this.#unreported.lease();
    const held = this.#held.entries().map(([, admission]) => admission);
    this.#connection.sendInWindows(helloMessages(this.#ports.proxyId, held, this.#connection));
  }

  /** Null for an unreadable frame. `nowMonoMs` is read once for all frames of a chunk. */
  received(message: FromDaemon | UnknownEvent | null, nowMonoMs: number): void {
    this.#connection.heard(nowMonoMs);
    if (this.#unreported.admissions.size > 0) this.#unreported.report();
    if (message === null || message.kind === "unknown event") return;
    switch (message.kind) {
      case "welcome":
        return this.#welcomed(message, nowMonoMs);
      case "admitted":
        return this.#pending.admitted(message);
      case "queued":
        return this.#pending.queued(message.id);
      case "cancelled":
        return this.#pending.cancelled(message.id);
      case "refused":
      case "exceeded":
        return this.#pending.rejected(message);
      case "denied":
        // Answers an admission or a check of a caller; all questions share one sequence of ids.
        this.#pending.rejected(message);
        return this.#calls.replied(message);
      case "drawn":
        return this.#draws.drawn(message);
      case "settled":
        return this.#outbox.acknowledge(message.seq, nowMonoMs);
      case "authorized":
        // Answers a question for a refusal, or a check of a caller.
        this.#pending.authorized(message.id);
        return this.#calls.replied(message);
      case "answer":
        return this.#calls.replied(message);
      case "failed":
        if (!this.#connection.linked) return this.#refused(message, nowMonoMs);
        this.#pending.failed(message);
        return this.#calls.replied(message);
      case "event":
        return applyEvent(this.#notices, message);
    }
  }

  lost(): void {
    const wasLinked = this.#connection.lost();
    this.#pending.connectionLost();
    this.#draws.connectionLost();
    this.#outbox.connectionLost();
    if (!wasLinked) return;
    this.#calls.connectionLost();
    this.#ports.onLinkChange(false);
  }

  /** Sends a window of settles first: admissions sent after it then see what the settles charge. */
  #welcomed(message: Welcome, nowMonoMs: number): void {
    this.#outbox.acknowledge(message.settledSeq, nowMonoMs);
    this.#connection.welcomed(nowMonoMs);
    applyWelcome(this.#notices, message);
    this.#unreported.report();
    this.#outbox.welcomed(nowMonoMs);
    this.#connection.sendInWindows(this.#draws.unsent());
    this.#connection.sendInWindows(this.#pending.unsent());
    this.#connection.sendInWindows(this.#calls.unsent());
    this.#ports.onLinkChange(true);
  }

  /** The answer to a hello whose wire version the daemon doesn't support. */
  #refused({ failure }: Failed, nowMonoMs: number): void {
    if (!this.#connection.refused()) return;
    this.#ports.onRefused(failure.message);
    this.#outbox.welcomed(nowMonoMs);
  }

  /** Waits for an answer, which resolves by its deadline. */
  #inTime<T>(waiting: Promise<T>): Promise<T> {
    this.#scheduleExpiry();
    return waiting;
  }

  /** One timer checks all deadlines, ten times per deadline length, while anything waits. */
  #scheduleExpiry(): void {
    if (
      this.#expiryScheduled ||
      this.#pending.size + this.#draws.waiting.size + this.#calls.size === 0
    )
      return;
    this.#expiryScheduled = true;
    this.#ports.schedule(this.#expiryIntervalMs, () => {
      this.#expiryScheduled = false;
      const nowMonoMs = this.#ports.monoMs();
      this.#pending.expire(nowMonoMs);
      if (this.#draws.waiting.size > 0) this.#draws.expire(nowMonoMs);
      this.#calls.expire(nowMonoMs);
      this.#scheduleExpiry();
    });
  }
}
