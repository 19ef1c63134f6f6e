/**
 * An admission or reroute from the question to the outcome: the message, the promise resolved by
 * the daemon's verdict, and the resulting admission. At its deadline the failure mode resolves it.
 * A verdict after the deadline is withdrawn.
 */
import { admissionsWaitingMax } from "../../../shared/bounds.js";
import type { FailureMode } from "../../../shared/config/config.js";
import { isKeyHash } from "../../../shared/domain/managed-key.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { IdMap } from "../../../shared/id-map.js";
import { isUnnumbered, unlimitedLsn } from "../../../shared/wire/lsn.js";
import type {
  Admitted,
  Denied,
  Exceeded,
  Failed,
  Queued,
  Refused,
} from "../../../shared/wire/message-from-daemon.js";
import type { Claimed, Metered, ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type {
  Admission,
  AdmissionDetails,
  AdmissionOutcome,
  Metering,
  QueueWait,
} from "../admission.js";
import { assertLimiter } from "../broken-limiter-state.js";
import type { DaemonConnection } from "../daemon-connection.js";
import type { DaemonNotices } from "../daemon-notices.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";
import type { UnreportedAdmissions } from "./report-leases.js";

export interface AdmissionRequest extends AdmissionDetails {
  readonly caller: Claimed;
  /**
   * As in `Admit`. Empty for a question that only asks for a refusal; an admission then means that
   * there is none.
   */
  readonly targets: readonly Target[];
  /** The admission whose target failed; null for a request that isn't admitted yet. */
  readonly rerouted: Admission | null;
  readonly submission: boolean;
  readonly startedMonoMs: number;
}

/** Stands for the target of a forgotten admission. */
const forgottenTarget: Target = { provider: "none", model: "none" };

interface PendingAdmission {
  readonly request: AdmissionRequest;
  deadlineMonoMs: number;
  /** Whether the daemon has reported that it waits for room. */
  isQueued: boolean;
  readonly resolve: (outcome: AdmissionOutcome) => void;
  /** Whether it was sent on this connection, so that its answer may still arrive. */
  isSent: boolean;
}

interface PendingAdmissionsContext {
  readonly connection: DaemonConnection;
  readonly notices: DaemonNotices;
  /** Granted, unsettled admissions by lease. */
  readonly held: IdMap<Admission>;
  readonly unreported: UnreportedAdmissions;
  readonly outbox: SettleOutbox;
  monoMs(): number;
  readonly failureMode: FailureMode;
}

export class PendingAdmissions {
  readonly #context: PendingAdmissionsContext;
  readonly #waiting = new IdMap<PendingAdmission>();
  readonly #late: LateAdmissions;

  constructor(context: PendingAdmissionsContext) {
    this.#context = context;
    this.#late = new LateAdmissions(context.outbox, () => context.monoMs());
  }

  /** The number of waiting questions. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Never rejects; resolves within the deadline, and immediately if the request needs no verdict or
   * none would arrive in time.
   */
  ask(request: AdmissionRequest): Promise<AdmissionOutcome> {
    const { connection, notices } = this.#context;
    const { caller, rerouted, startedMonoMs } = request;
    const isUnlimited = connection.linked && !notices.hasLimits && this.#mayPassUnchecked(caller);
    // An admission without a number had no question, or its verdict is late: the daemon has no
    // lease to reroute.
    if (isUnlimited || (rerouted !== null && isUnnumbered(rerouted.lsn)))
      return Promise.resolve({
        kind: "admitted",
        admission: failOpenAdmission(request, isUnlimited ? unlimitedLsn : 0),
        headers: null,
      });
    const deadlineMonoMs = connection.deadlineMonoMs(startedMonoMs);
    if (
      connection.silent ||
      deadlineMonoMs <= startedMonoMs ||
      this.#waiting.size >= admissionsWaitingMax
    )
      return Promise.resolve(this.#withoutVerdict(request));
    const id = connection.nextId();
    const isSent = connection.linked;
    return new Promise((resolve) => {
      this.#waiting.set(id, { request, deadlineMonoMs, isQueued: false, resolve, isSent });
      if (isSent) connection.send(this.#message(id, request));
    });
  }

  /** The waiting questions, ordered by id, for a daemon that has just welcomed this proxy. */
  *unsent(): Generator<ToDaemon, void> {
    const { connection } = this.#context;
    for (const [id, pending] of this.#waiting.entries()) {
      // The question may have expired since.
      if (this.#waiting.get(id) !== pending) continue;
      pending.isSent = true;
      if (pending.isQueued)
        pending.deadlineMonoMs = connection.deadlineMonoMs(this.#context.monoMs());
      yield this.#message(id, pending.request);
    }
  }

  /** All questions will be sent to the next daemon; no late verdict arrives any more. */
  onDisconnect(): void {
    const reconnectDeadlineMonoMs = this.#context.connection.deadlineMonoMs(this.#context.monoMs());
    for (const pending of this.#waiting.values()) {
      pending.isSent = false;
      if (pending.isQueued)
        pending.deadlineMonoMs = Math.min(pending.deadlineMonoMs, reconnectDeadlineMonoMs);
    }
    this.#late.onDisconnect();
  }

  #message(id: number, request: AdmissionRequest): ToDaemon {
    const message = admissionMessage(id, request, this.#context.connection.verdictsRead);
    const { wait } = request;
    if (wait === undefined || message.kind !== "admit") return message;
    const { askedMs, timeoutMs, placeEveryMs } = wait;
    const waitedMs = this.#waitedMs(request);
    return { ...message, wait: { askedMs, timeoutMs, waitedMs, placeEveryMs } };
  }

  #waitedMs({ wait, startedMonoMs }: AdmissionRequest): number {
    return Math.round((wait?.waitedMs ?? 0) + this.#context.monoMs() - startedMonoMs);
  }

  /** Undefined for a request that hasn't waited for room. */
  #waited({ request, isQueued }: PendingAdmission): QueueWait | undefined {
    if (!isQueued) return undefined;
    return { ms: this.#waitedMs(request), isPreferred: request.wait?.askedMs != null };
  }

  /** The request waits for room: its verdict comes later than that of another one. */
  onQueued({ id, position, expectedMs }: Queued): void {
    const pending = this.#waiting.get(id);
    const wait = pending?.request.wait;
    if (pending === undefined || wait === undefined) return;
    const { connection } = this.#context;
    pending.deadlineMonoMs = connection.deadlineMonoMs(
      pending.request.startedMonoMs + Math.max(0, wait.atMostMs - wait.waitedMs),
    );
    if (!pending.isQueued) wait.onQueued(() => this.#leave(id, pending));
    pending.isQueued = true;
    if (position !== undefined) wait.onPlace?.({ position, expectedMs: expectedMs ?? null });
  }

  /** The client of a request that waits has left. */
  #leave(id: number, pending: PendingAdmission): void {
    if (this.#waiting.get(id) !== pending) return;
    this.#waiting.take(id);
    if (pending.isSent) {
      this.#late.expect(id, pending.request);
      this.#context.connection.send({ kind: "cancel", id });
    }
    pending.resolve({ kind: "left" });
  }

  /** The daemon has removed a request whose client has left. */
  onCancelled(id: number): void {
    this.#late.onRejected(id);
  }

  onAdmitted(message: Admitted): void {
    this.#context.connection.countVerdict();
    const pending = this.#waiting.take(message.id);
    if (pending === undefined) return this.#late.onAdmitted(message);
    if (message.target >= pending.request.targets.length)
      return this.#onUnknownTarget(pending, message);
    const admission = grantedAdmission(pending.request, message, this.#waited(pending));
    this.#context.held.set(admission.lease, admission);
    pending.resolve({ kind: "admitted", admission, headers: message.headers });
  }

  /**
   * The daemon chose a target that the request doesn't list: this counts as no verdict, and the
   * lease is withdrawn.
   */
  #onUnknownTarget({ request, resolve }: PendingAdmission, message: Admitted): void {
    this.#late.expect(message.id, request);
    this.#late.onAdmitted(message);
    resolve(this.#withoutVerdict(request));
  }

  /** The daemon's answer to a question that only asks for a refusal: nothing refuses. */
  onAuthorized(id: number): void {
    const pending = this.#waiting.take(id);
    if (pending === undefined) return this.#late.onRejected(id);
    const { request, resolve } = pending;
    if (request.targets.length > 0) return resolve(this.#withoutVerdict(request));
    const admission = failOpenAdmission(request, unlimitedLsn);
    resolve({ kind: "admitted", admission, headers: null });
  }

  onRejected(message: Refused | Exceeded | Denied): void {
    const pending = this.#waiting.take(message.id);
    if (pending === undefined) return this.#late.onRejected(message.id);
    pending.resolve(rejectedOutcome(message, this.#waited(pending)));
  }

  /** The daemon can't accept the question. The failure mode doesn't apply: it is connected. */
  onFailed({ id, failure }: Failed): void {
    const pending = this.#waiting.take(id);
    if (pending === undefined) return this.#late.onRejected(id);
    pending.resolve({ kind: "failed", failure });
  }

  /** Resolves questions past their deadline by the failure mode. */
  expire(nowMonoMs: number): void {
    const { connection } = this.#context;
    for (const [id, { request, deadlineMonoMs, resolve, isSent }] of this.#waiting.entries()) {
      if (deadlineMonoMs > nowMonoMs) continue;
      this.#waiting.take(id);
      if (isSent) {
        connection.timedOut(request.startedMonoMs);
        this.#late.expect(id, request);
      }
      resolve(this.#withoutVerdict(request));
    }
  }

  #withoutVerdict(request: AdmissionRequest): AdmissionOutcome {
    const { failureMode, unreported } = this.#context;
    if (failureMode === "closed" || !this.#mayPassUnchecked(request.caller))
      return { kind: "unavailable" };
    const admission = failOpenAdmission(request, 0);
    if (request.targets.length > 0) unreported.add(admission);
    return { kind: "admitted", admission, headers: null };
  }

  /** Whether the caller may call, as far as the proxy knows without the daemon. */
  #mayPassUnchecked({ credential }: Claimed): boolean {
    return (
      credential === "authenticated" ||
      (credential === "none" && this.#context.notices.keysExist === false)
    );
  }
}

/** `read`: the number of admitting verdicts read on this connection. */
export function admissionMessage(
  id: number,
  request: AdmissionRequest,
  verdictsRead: number,
): ToDaemon {
  const { caller, targets, rerouted, submission, modelNames, uses, fixed, metered } = request;
  return rerouted === null
    ? {
        kind: "admit",
        id,
        userPath: caller.userPath,
        credential: caller.credential,
        targets,
        submission,
        read: verdictsRead,
        // The daemon has model lists for keys only.
        modelNames: isKeyHash(caller.credential) ? modelNames : undefined,
        uses,
        fixed,
        metered,
        session: request.session,
      }
    : {
        kind: "reroute",
        id,
        lease: rerouted.lease,
        targets,
        read: verdictsRead,
        uses: rerouted.uses,
        metered,
        session: rerouted.session,
      };
}

/** The admission that the daemon granted or rerouted. */
export function grantedAdmission(
  request: AdmissionRequest,
  answer: Admitted,
  waited?: QueueWait,
): Admission {
  const { caller, targets, rerouted, submission, startedMonoMs, uses, metered, session } = request;
  const { id, target: index, admittedAtMs, lsn, key, pricedOnly = false } = answer;
  const { exhausted, allowance, shadow, cap } = answer;
  const target = targets[index];
  const metering =
    allowance === undefined || metered === undefined
      ? undefined
      : { ...meteringOf(metered, index, allowance, rerouted?.metering), cap: cap ?? null };
  assertLimiter(target !== undefined, "the daemon chose one of the targets");
  if (rerouted !== null)
    return Object.assign(rerouted, {
      target,
      targetAtMs: admittedAtMs,
      targetStartedMonoMs: undefined,
      targetLsn: lsn,
      metering,
      shadow: shadow === undefined ? rerouted.shadow : [...(rerouted.shadow ?? []), ...shadow],
    });
  return {
    lease: id,
    admittedAtMs,
    lsn,
    userPath: key?.userPath ?? caller.userPath,
    keyId: key?.keyId ?? "",
    target: submission ? null : target,
    targetAtMs: submission ? 0 : admittedAtMs,
    targetLsn: submission ? 0 : lsn,
    submission,
    pricedOnly,
    startedMonoMs,
    isSettled: false,
    uses,
    session,
    exhausted,
    metering,
    shadow,
    waited,
  };
}

/** `earlier`: the metering of the attempts before. */
function meteringOf(
  { promptTokens, rates }: Metered,
  index: number,
  allowance: number,
  earlier: Metering | undefined,
): Metering {
  return {
    promptTokens,
    isPromptKnown: false,
    rates: rates[index] ?? null,
    granted: allowance,
    spent: earlier?.spent ?? 0,
    cap: null,
  };
}

/**
 * The admission of a request that goes to its first target without a verdict. `lsn`: 0, or
 * `unlimitedLsn` if there is no rule.
 */
export function failOpenAdmission(
  { caller, targets, rerouted, submission, startedMonoMs, uses, session }: AdmissionRequest,
  lsn: number,
): Admission {
  const target = submission ? null : (targets[0] ?? null);
  if (rerouted !== null)
    return Object.assign(rerouted, {
      target,
      targetAtMs: 0,
      targetStartedMonoMs: startedMonoMs,
      targetLsn: rerouted.lsn === unlimitedLsn ? unlimitedLsn : lsn,
    });
  return {
    lease: 0,
    admittedAtMs: 0,
    lsn,
    userPath: caller.userPath,
    keyId: "",
    target,
    targetAtMs: 0,
    targetLsn: target === null ? 0 : lsn,
    submission,
    pricedOnly: false,
    startedMonoMs,
    isSettled: false,
    uses,
    session,
    exhausted: undefined,
    metering: undefined,
    shadow: undefined,
    waited: undefined,
  };
}

/** The outcome of a request that the daemon didn't admit. */
export function rejectedOutcome(
  message: Refused | Exceeded | Denied,
  waited?: QueueWait,
): AdmissionOutcome {
  switch (message.kind) {
    case "refused":
      return { kind: "refused", id: message.id, breach: message, key: message.key, waited };
    case "exceeded":
      return {
        kind: "exceeded",
        id: message.id,
        breach: message,
        headers: message.headers,
        key: message.key,
        waited,
      };
    case "denied":
      return { kind: "denied", ended: message.ended };
  }
}

/**
 * Admissions and reroutes whose deadline passed before the daemon's verdict, while that may still
 * arrive. Their request was rejected, or went to a target without a verdict and is counted there
 * (`UnreportedAdmissions`). So the counts of a late verdict are withdrawn in either case.
 */
export class LateAdmissions {
  readonly #expected = new Map<number, AdmissionRequest>();
  readonly #outbox: SettleOutbox;
  readonly #monoMs: () => number;

  constructor(outbox: SettleOutbox, monoMs: () => number) {
    this.#outbox = outbox;
    this.#monoMs = monoMs;
  }

  /** Expects a late verdict for a request; at the bound the request is forgotten. */
  expect(id: number, request: AdmissionRequest): void {
    if (this.#expected.size < admissionsWaitingMax) this.#expected.set(id, request);
  }

  onAdmitted(message: Admitted): void {
    const { id, target: index, key } = message;
    const request = this.#expected.get(id);
    this.#expected.delete(id);
    if (request === undefined) return this.#withdraw(message, "/", forgottenTarget);
    const { caller, targets, rerouted, submission } = request;
    const target = submission ? null : (targets[index] ?? forgottenTarget);
    if (rerouted === null) this.#withdraw(message, key?.userPath ?? caller.userPath, target);
    else if (target !== null) this.#withdrawTarget(message, rerouted, target);
  }

  /** The late verdict counted nothing. */
  onRejected(id: number): void {
    this.#expected.delete(id);
  }

  /** No late verdict arrives any more: the daemon undoes their counts. */
  onDisconnect(): void {
    this.#expected.clear();
  }

  #withdraw({ id, admittedAtMs, lsn }: Admitted, userPath: string, target: Target | null): void {
    const lease = {
      lease: id,
      userPath,
      admittedAtMs,
      lsn,
      target,
      targetAtMs: target === null ? 0 : admittedAtMs,
      targetLsn: target === null ? 0 : lsn,
      startedMonoMs: this.#monoMs(),
    };
    this.#outbox.add("withdrawn", lease, nothingSpent);
  }

  /** Withdraws the target of a late reroute; its request has continued or ended elsewhere. */
  #withdrawTarget({ admittedAtMs, lsn }: Admitted, rerouted: Admission, target: Target): void {
    const attempt = { target, targetAtMs: admittedAtMs, targetLsn: lsn };
    this.#outbox.add("untried", { ...rerouted, ...attempt }, nothingSpent);
  }
}
