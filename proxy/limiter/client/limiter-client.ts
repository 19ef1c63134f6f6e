/**
 * The proxy's interface to the limiter: questions and reports to the daemon over one connection,
 * and the daemon's answers. After a loss it reconnects, and resends its leases and all
 * unacknowledged settles.
 *
 * For a plain request, `admit` adds the question to `PendingAdmissions`, where `onMessage` brings
 * the verdict, and `settle` adds the settle to the `SettleOutbox`, until the daemon acknowledges
 * it.
 */

import type { LinkState } from "../../../shared/api/gateway-status.js";
import { endsPerTurn } from "../../../shared/bounds.js";
import { isCount } from "../../../shared/checked.js";
import type { FailureMode } from "../../../shared/config/config.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { IdMap } from "../../../shared/id-map.js";
import { createThrottledQueue } from "../../../shared/throttled-queue.js";
import type { AdminOp, DaemonAnswer } from "../../../shared/wire/admin-op.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type {
  Failed,
  FromDaemon,
  UnknownEvent,
  Welcome,
} from "../../../shared/wire/message-from-daemon.js";
import type { Claimed, Metered, Requester } from "../../../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../../../shared/wire/wire-versions.js";
import type { WantedOutput } from "../../hard-caps/output-allowance.js";
import type {
  Admission,
  AdmissionDetails,
  AdmissionOutcome,
  AuthorizeOutcome,
  LimitReport,
  RejectedAdmission,
  SpentUsage,
  UnadmittedUsage,
} from "../admission.js";
import { assertLimiter, assertRuns } from "../broken-limiter-state.js";
import { DaemonCalls } from "../daemon-calls.js";
import {
  DaemonConnection,
  type DaemonLine,
  type LimiterClientPorts,
} from "../daemon-connection.js";
import { applyEvent, applyWelcome, createNotices } from "../daemon-notices.js";
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

/** The interface for the steps of a request; `connect-limiter.ts` uses the rest. */
export type Limiter = Omit<
  LimiterClient,
  "onConnect" | "onMessage" | "onDisconnect" | "unacknowledged"
>;

const noDetails: AdmissionDetails = {};

export class LimiterClient {
  readonly #ports: LimiterClientPorts;
  readonly #connection: DaemonConnection;
  readonly #pending: PendingAdmissions;
  /** Unsettled admissions by lease. */
  readonly #admissions = new IdMap<Admission>();
  readonly #outbox: SettleOutbox;
  /** The daemon's last report of its own state. */
  readonly notices = createNotices();
  /** Only for requests that run without a verdict. */
  readonly #unreported: UnreportedAdmissions;
  /** Only for hard caps. */
  readonly #draws: PendingDraws;
  /** Only for admin operations, and callers of endpoints without limits. */
  readonly #calls: DaemonCalls;
  /** Runs a callback once the messages of this turn of the event loop have been sent. */
  readonly #afterSending: (run: () => void) => void;
  readonly #expiryIntervalMs: number;
  #isExpiryScheduled = false;

  constructor(ports: LimiterClientPorts, options: LimiterClientOptions) {
    const { deadlineMs, failureMode, settleWindow, wireVersions } = options;
    const monoMs = (): number => ports.monoMs();
    this.#ports = ports;
    this.#connection = new DaemonConnection(ports, deadlineMs, wireVersions);
    this.#outbox = new SettleOutbox(ports, this.#connection, settleWindow);
    const shared = {
      connection: this.#connection,
      held: this.#admissions,
      outbox: this.#outbox,
      monoMs,
    };
    this.#unreported = new UnreportedAdmissions(shared);
    this.#pending = new PendingAdmissions({
      ...shared,
      notices: this.notices,
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
  /** Whether the state is `onConnect`. */
  get reachable(): boolean {
    return this.state === "connected";
  }
  /** Settles that the daemon hasn't acknowledged. */
  get unsettled(): number {
    return this.#outbox.size;
  }
  /** Settles that were dropped because too many waited. */
  get dropped(): number {
    return this.#outbox.dropped;
  }
  /**
   * Requests the verdict on one request. Resolves immediately, without the daemon, if no rule
   * exists and no key must be looked up. Never rejects; resolves within the deadline, or when a
   * request that waits for room has waited long enough. While the daemon is away, a caller with a
   * key is never admitted.
   *
   * A submission (a batch, `docs/reference/http-api.md`) counts as one request in the user path's
   * rules and budgets. It holds no slot and counts in no target's rules: `targets` serves only to
   * explain a refusal, and the admission has no target.
   *
   * The last argument: see `Admit`. A refusal with `use` isn't recorded, because another admission
   * follows: with another model, or `fixed`.
   */
  admit(
    caller: Claimed,
    targets: readonly Target[],
    {
      submission = false,
      modelNames,
      uses,
      fixed,
      metered,
      wait,
      session,
    }: AdmissionDetails = noDetails,
  ): Promise<AdmissionOutcome> {
    assertLimiter(targets.length > 0, "an admission has a target");
    const startedMonoMs = this.#ports.monoMs();
    const request: AdmissionRequest = {
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
      session,
    };
    return this.#inTime(this.#pending.ask(request));
  }

  /**
   * Why the user path's rules and budgets refuse a request that isn't read yet; null if they don't,
   * or if the daemon is away and the failure mode is `open`. Counts nothing: an admission follows.
   * Never rejects; resolves within the deadline.
   */
  async refusal(
    caller: Claimed,
    { submission = false }: Pick<AdmissionDetails, "submission"> = noDetails,
  ): Promise<RejectedAdmission | null> {
    const startedMonoMs = this.#ports.monoMs();
    const request = { caller, targets: [], rerouted: null, submission, startedMonoMs };
    const outcome = await this.#inTime(this.#pending.ask(request));
    return outcome.kind === "admitted" ? null : outcome;
  }

  /**
   * Reports that the target of an admission failed: settles the attempt and asks for the first of
   * `targets` with room. If one takes over, the outcome holds the same admission, with the headers
   * of the new verdict. Otherwise the admission has no target and must be settled. Never rejects;
   * resolves within the deadline.
   */
  reroute(
    admission: Admission,
    targets: readonly Target[],
    metered?: Metered,
  ): Promise<AdmissionOutcome> {
    assertRuns(admission);
    assertLimiter(targets.length > 0, "a rerouted request has a target");
    const startedMonoMs = this.#ports.monoMs();
    this.#outbox.add("attempt", admission, nothingSpent);
    Object.assign(admission, noTarget);
    const caller: Claimed = { userPath: admission.userPath, credential: "authenticated" };
    const request = { caller, targets, rerouted: admission, submission: false, startedMonoMs };
    return this.#inTime(this.#pending.ask({ ...request, metered }));
  }

  /**
   * Asks for more output of an admission with `metering`. `then` runs once, after `metering` has
   * the answer, unless the admission is settled first.
   */
  draw(admission: Admission, wanted: WantedOutput, then: () => void): void {
    assertRuns(admission);
    this.#draws.ask(admission, wanted, then);
    this.#scheduleExpiry();
  }

  /**
   * Whether a caller with this `credential` (see `Claimed`) is known. Never rejects; resolves
   * within the deadline.
   */
  authorize(credential: string): Promise<AuthorizeOutcome> {
    return this.#inTime(this.#calls.authorize(credential));
  }

  /** Reports what a running admission has used since the last such report. */
  progress(admission: Admission, spent: SpentUsage): void {
    assertRuns(admission);
    this.#outbox.add("progress", admission, spent);
  }

  /** Ends an admission, exactly once; `then` runs once the settle has been sent. */
  settle(admission: Admission, spent: SpentUsage, then: () => void): void {
    assertLimiter(isCount(spent.tokens), "a count of tokens is an integer");
    this.#end("request", admission, spent);
    this.#afterSending(then);
  }

  /** Ends an admission that was sent to no target, instead of `settle`: it isn't counted. */
  withdraw(admission: Admission): void {
    this.#end("withdrawn", admission, nothingSpent);
  }

  #end(part: "request" | "withdrawn", admission: Admission, spent: SpentUsage): void {
    assertLimiter(!admission.isSettled, "one settle per admission");
    admission.isSettled = true;
    if (admission.lease !== 0) this.#admissions.take(admission.lease);
    if (admission.metering !== undefined) this.#draws.forget(admission.lease);
    if (this.#unreported.admissions.size > 0) this.#unreported.delete(admission);
    this.#outbox.end(part, admission, spent);
  }

  /**
   * Reports usage that needed no admission: an answer of the cache, a web search. It is recorded
   * and counts in no rate limit; `then` as in `settle`.
   */
  settleUnadmitted(answered: UnadmittedUsage, then: () => void): void {
    this.#outbox.addUnadmitted(answered);
    this.#afterSending(then);
  }

  /** Reports the actual usage of a response that was charged an estimate; it counts once. */
  settleFinal(record: Execution): void {
    this.#outbox.addFinal(record);
  }

  /**
   * Reports which request a refusal answered, so that the refusal can be explained by the request's
   * id. Dropped while the daemon is unreachable, which has then lost its refusals.
   */
  noteRefusal(id: number, requestId: string, model: string): void {
    if (this.#connection.linked) this.#connection.send({ kind: "refusal", id, requestId, model });
  }

  /** Reports a provider's limits, as an answer states them. Dropped while the daemon is away. */
  report(report: LimitReport): void {
    if (this.#connection.linked) this.#connection.send({ kind: "reported", ...report });
  }

  /**
   * Calls an admin operation, `by` for audited ones and for a role of a subtree; resolves within
   * the deadline.
   */
  call(op: AdminOp, body: unknown, by?: Requester): Promise<DaemonAnswer> {
    return this.#inTime(this.#calls.operate(op, body, by));
  }

  /** Resolves once every settle is acknowledged, or after `ms`. */
  untilDrained(ms: number): Promise<void> {
    return this.#outbox.untilDrained(ms);
  }

  /** The settles without an acknowledgement. Call it once the connection is closed. */
  unacknowledged(): UnacknowledgedSettles {
    return this.#outbox.unacknowledged(this.#ports.monoMs());
  }

  /** Says hello over an open socket. */
  onConnect(line: DaemonLine): void {
    this.#connection.onConnect(line);
    this.#unreported.giveLeases();
    const admissions = this.#admissions.entries().map(([, admission]) => admission);
    this.#connection.sendInWindows(
      helloMessages(this.#ports.proxyId, admissions, this.#connection),
    );
  }

  /** Null for an unreadable frame. `nowMonoMs` is read once for all frames of a chunk. */
  onMessage(message: FromDaemon | UnknownEvent | null, nowMonoMs: number): void {
    this.#connection.noteMessage(nowMonoMs);
    if (this.#unreported.admissions.size > 0) this.#unreported.report();
    if (message === null || message.kind === "unknown event") return;
    switch (message.kind) {
      case "welcome":
        return this.#onWelcome(message, nowMonoMs);
      case "admitted":
        return this.#pending.onAdmitted(message);
      case "queued":
        return this.#pending.onQueued(message);
      case "cancelled":
        return this.#pending.onCancelled(message.id);
      case "refused":
      case "exceeded":
        return this.#pending.onRejected(message);
      case "denied":
        // Answers an admission or a check of a caller; all questions share one sequence of ids.
        this.#pending.onRejected(message);
        return this.#calls.onReply(message);
      case "drawn":
        return this.#draws.onDrawn(message);
      case "settled":
        return this.#outbox.acknowledge(message.seq, nowMonoMs);
      case "authorized":
        // Answers a question for a refusal, or a check of a caller.
        this.#pending.onAuthorized(message.id);
        return this.#calls.onReply(message);
      case "answer":
        return this.#calls.onReply(message);
      case "failed":
        if (!this.#connection.linked) return this.#onFailedHello(message, nowMonoMs);
        this.#pending.onFailed(message);
        return this.#calls.onReply(message);
      case "event":
        return applyEvent(this.notices, message);
    }
  }

  onDisconnect(): void {
    const wasLinked = this.#connection.onDisconnect();
    this.#pending.onDisconnect();
    this.#draws.onDisconnect();
    this.#outbox.onDisconnect();
    if (!wasLinked) return;
    this.#calls.onDisconnect();
    this.#ports.onLinkChange(false);
  }

  /**
   * Sends a window of settles first, so that admissions sent after it count what the settles
   * charge.
   */
  #onWelcome(message: Welcome, nowMonoMs: number): void {
    this.#outbox.acknowledge(message.settledSeq, nowMonoMs);
    this.#connection.onWelcome(nowMonoMs);
    applyWelcome(this.notices, message);
    this.#unreported.report();
    this.#outbox.onWelcome(nowMonoMs);
    this.#connection.sendInWindows(this.#draws.unsent());
    this.#connection.sendInWindows(this.#pending.unsent());
    this.#connection.sendInWindows(this.#calls.unsent());
    this.#ports.onLinkChange(true);
  }

  /** The answer to a hello whose wire version the daemon doesn't support. */
  #onFailedHello({ failure }: Failed, nowMonoMs: number): void {
    if (!this.#connection.onRefused()) return;
    this.#ports.onRefused(failure.message);
    this.#outbox.onWelcome(nowMonoMs);
  }

  /** Waits for an answer, which resolves by its deadline. */
  #inTime<T>(waiting: Promise<T>): Promise<T> {
    this.#scheduleExpiry();
    return waiting;
  }

  /** One timer checks all deadlines, ten times per deadline length, while anything waits. */
  #scheduleExpiry(): void {
    if (
      this.#isExpiryScheduled ||
      this.#pending.size + this.#draws.waiting.size + this.#calls.size === 0
    )
      return;
    this.#isExpiryScheduled = true;
    this.#ports.schedule(this.#expiryIntervalMs, () => {
      this.#isExpiryScheduled = false;
      const nowMonoMs = this.#ports.monoMs();
      this.#pending.expire(nowMonoMs);
      if (this.#draws.waiting.size > 0) this.#draws.expire(nowMonoMs);
      this.#calls.expire(nowMonoMs);
      this.#scheduleExpiry();
    });
  }
}
