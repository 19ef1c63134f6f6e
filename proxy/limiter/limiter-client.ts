/**
 * The proxy's side of the wire: admissions, settles and admin calls over one connection that may
 * come and go. It knows what it holds and what is not yet acknowledged, tells both after a
 * reconnect, and applies the failure mode when the daemon is away past its deadline. What a verdict
 * means for HTTP is not here.
 */

import { assert, isCount } from "../../shared/assert.js";
import { admissionsWaitingMax, endsPerTurn } from "../../shared/bounds.js";
import { IdMap } from "../../shared/id-map.js";
import { createThrottledQueue } from "../../shared/throttled-queue.js";
import type {
  Admin,
  Admitted,
  Authorize,
  Authorized,
  Claimed,
  Denied,
  Exceeded,
  FromDaemon,
  Lease,
  Refused,
  Target,
  ToDaemon,
  Welcome,
} from "../../shared/wire/message.js";
import { isUnnumbered, unlimitedLsn } from "../../shared/wire/unlimited-lsn.js";
import { type CallOutcome, createDaemonCalls } from "./daemon-calls.js";
import { applyEvent, applyWelcome, createNotices } from "./daemon-notices.js";
import { helloMessages } from "./hello.js";
import type {
  Admission,
  AdmissionOutcome,
  AnsweredFromCache,
  AuthorizeOutcome,
  Limiter,
  Spent,
} from "./limiter.js";
import type { LimiterClientOptions, LimiterClientPorts, LimiterLink } from "./limiter-link.js";
import {
  type Asking,
  createPendingAdmissions,
  failOpenAdmission,
  granted,
  nobody,
  questionMessage,
  rejected,
} from "./pending-admissions.js";
import { createSettleOutbox, settleMessage, type Unsettled } from "./settle-outbox.js";

export interface LimiterClient extends Limiter {
  readonly link: LimiterLink;
}

export function createLimiterClient(
  ports: LimiterClientPorts,
  options: LimiterClientOptions,
): LimiterClient {
  let send: ((message: ToDaemon) => void) | null = null;
  let linked = false;
  const notices = createNotices();
  /**
   * False from an admission that expired on a standing connection until the daemon says anything.
   */
  let answering = true;
  let lostMonoMs = ports.monoMs();
  let lastId = 0;
  let watching = false;
  const questions = createPendingAdmissions();
  const calls = createDaemonCalls();
  const held = new IdMap<Admission>();
  const unsettled = createSettleOutbox(ports.onDropped);
  /** Runs what it is given once what was just said has left the process. */
  const finishLater = createThrottledQueue(ports.afterTurn, endsPerTurn);

  function ask({
    caller,
    targets,
    rerouted,
    submission,
  }: Omit<Asking, "startedMonoMs">): Promise<AdmissionOutcome> {
    assert(targets.length > 0, "an admission has a target");
    const startedMonoMs = ports.monoMs();
    const asking: Asking = { caller, targets, rerouted, submission, startedMonoMs };
    // What has no number wasn't asked for, or has no answer yet: the daemon knows of no lease to
    // reroute.
    const unlimited = linked && !notices.limited && isKnown(caller);
    if (unlimited || (rerouted !== null && isUnnumbered(rerouted.lsn)))
      return Promise.resolve({
        kind: "admitted",
        admission: failOpenAdmission(asking, unlimited ? unlimitedLsn : 0),
        headers: null,
      });
    const deadlineMonoMs =
      (linked ? startedMonoMs : Math.min(startedMonoMs, lostMonoMs)) + options.deadlineMs;
    if (deadlineMonoMs <= startedMonoMs || questions.size >= admissionsWaitingMax)
      return Promise.resolve(withoutDaemon(asking));
    const id = ++lastId;
    return new Promise((resolve) => {
      const question = {
        caller,
        targets,
        rerouted,
        submission,
        deadlineMonoMs,
        startedMonoMs,
        resolve,
      };
      questions.add(id, question);
      if (linked) send!(questionMessage(id, question));
      watch();
    });
  }

  function withoutDaemon(asking: Asking): AdmissionOutcome {
    return options.failureMode === "closed" || !isKnown(asking.caller)
      ? { kind: "unavailable" }
      : { kind: "admitted", admission: failOpenAdmission(asking, 0), headers: null };
  }

  /** Whether the caller may call, as far as can be said without the daemon. */
  function isKnown({ credential }: Claimed): boolean {
    return credential === "authenticated" || (credential === "none" && notices.keysExist === false);
  }

  /** One timer for all deadlines. */
  function watch(): void {
    if (watching) return;
    watching = true;
    ports.schedule(Math.max(10, options.deadlineMs / 10), () => {
      watching = false;
      expire(ports.monoMs());
      if (questions.size > 0 || calls.size > 0) watch();
    });
  }

  function expire(now: number): void {
    for (const [id, question] of questions.expired(now)) {
      if (linked && answering) {
        answering = false;
        ports.onTimedOut();
      }
      const outcome = withoutDaemon(question);
      const admission = outcome.kind === "admitted" ? outcome.admission : null;
      // The lease that the daemon will know it by.
      if (
        linked &&
        questions.addLate(id, { question, admission }) &&
        admission !== null &&
        question.rerouted === null
      )
        admission.lease = id;
      question.resolve(outcome);
    }
    calls.expire(now);
  }

  function onAdmitted(message: Admitted): void {
    const question = questions.take(message.id);
    if (question === undefined) return onLateAdmitted(message);
    const admission = granted(question, message);
    held.set(admission.lease, admission);
    question.resolve({ kind: "admitted", admission, headers: message.headers });
  }

  /**
   * An answer after the deadline: whoever went on without it holds the lease now. If nobody did, an
   * admission is withdrawn; a reroute is, by its settle.
   */
  function onLateAdmitted({ id, target: index, admittedAtMs, lsn, key }: Admitted): void {
    const known = questions.takeLate(id);
    const target =
      known?.question.submission === true ? null : (known?.question.targets[index] ?? nobody);
    const admission = known?.admission ?? null;
    const isReroute = known !== undefined && known.question.rerouted !== null;
    if (admission === null)
      return isReroute
        ? undefined
        : withdraw({
            lease: id,
            userPath: key?.userPath ?? known?.question.caller.userPath ?? "/",
            admittedAtMs,
            lsn,
            target,
            targetAtMs: target === null ? 0 : admittedAtMs,
            targetLsn: target === null ? 0 : lsn,
          });
    // Settled meanwhile, under this very lease: the daemon has it behind its own answer.
    if (admission.settled) return;
    if (!isReroute) {
      Object.assign(admission, { admittedAtMs, lsn });
      held.set(id, admission);
    }
    if (target !== null && admission.target === target && admission.targetLsn === 0)
      Object.assign(admission, { targetAtMs: admittedAtMs, targetLsn: lsn });
  }

  function onRefused(message: Refused | Exceeded | Denied): void {
    if (message.kind === "denied") calls.answer(message.id, { ok: true, body: message });
    const late = questions.takeLate(message.id);
    // It went on all the same, and is counted with its settle.
    if (
      late !== undefined &&
      late.question.rerouted === null &&
      late.admission !== null &&
      !late.admission.settled
    )
      late.admission.lease = 0;
    questions.take(message.id)?.resolve(rejected(message));
  }

  function withdraw(lease: Omit<Lease, "submission">): void {
    const now = ports.monoMs();
    keep({
      ...lease,
      part: "withdrawn",
      tokens: 0,
      estimated: false,
      record: null,
      startedMonoMs: now,
      endedMonoMs: now,
    });
  }

  function reroute(admission: Admission, targets: readonly Target[]): Promise<AdmissionOutcome> {
    assert(
      !admission.settled && admission.target !== null,
      "what is rerouted has a target that failed",
    );
    keep({
      ...admission,
      part: "attempt",
      tokens: 0,
      estimated: false,
      record: null,
      endedMonoMs: ports.monoMs(),
    });
    Object.assign(admission, { target: null, targetAtMs: 0, targetLsn: 0 });
    return ask({
      caller: { userPath: admission.userPath, credential: "authenticated" },
      targets,
      rerouted: admission,
      submission: false,
    });
  }

  function settle(admission: Admission, spent: Spent, then: () => void): void {
    assert(!admission.settled, "one settle per admission");
    assert(isCount(spent.tokens), "tokens are counted whole");
    admission.settled = true;
    if (admission.lease !== 0) held.take(admission.lease);
    const { lease, userPath, target, targetAtMs, targetLsn, admittedAtMs, lsn, startedMonoMs } =
      admission;
    keep({
      part: "request",
      tokens: spent.tokens,
      estimated: spent.estimated,
      record: spent.record,
      lease,
      userPath,
      target,
      targetAtMs,
      targetLsn,
      admittedAtMs,
      lsn,
      startedMonoMs,
      endedMonoMs: ports.monoMs(),
    });
    finishLater(then);
  }

  function settleCached(
    { userPath, startedMonoMs, estimated, record }: AnsweredFromCache,
    then: () => void,
  ): void {
    keep({
      part: "cached",
      tokens: 0,
      estimated,
      record,
      lease: 0,
      userPath,
      target: null,
      targetAtMs: 0,
      targetLsn: 0,
      admittedAtMs: 0,
      lsn: 0,
      startedMonoMs,
      endedMonoMs: ports.monoMs(),
    });
    finishLater(then);
  }

  /** Kept until it is acknowledged. */
  function keep(settled: Omit<Unsettled, "seq">): void {
    const item = unsettled.add(settled);
    if (linked) send!(settleMessage(item, item.endedMonoMs));
  }

  function connected(to: (message: ToDaemon) => void): void {
    send = to;
    for (const hello of helloMessages(
      ports.proxyId,
      held.entries().map(([, admission]) => admission),
      () => ++lastId,
    ))
      to(hello);
  }

  /** Settles first: what they give back is there for the admissions behind them. */
  function onWelcome(message: Welcome): void {
    linked = true;
    applyWelcome(notices, message);
    unsettled.acknowledge(message.settledSeq);
    const now = ports.monoMs();
    for (const item of unsettled.items) send!(settleMessage(item, now));
    for (const [id, question] of questions.waiting()) send!(questionMessage(id, question));
    calls.unsent(send!);
    ports.onLinkChange(true);
  }

  /**
   * As for admissions: who calls while the daemon is away waits for it, but not longer than anybody
   * else.
   */
  function call(message: Admin | Authorize, deadlineMs: number): Promise<CallOutcome> {
    const outcome = calls.add(message, {
      deadlineMonoMs: linked ? ports.monoMs() + deadlineMs : lostMonoMs + options.deadlineMs,
      sent: linked,
    });
    if (linked) send!(message);
    watch();
    return outcome;
  }

  async function authorize(credential: string): Promise<AuthorizeOutcome> {
    const givenUp = !linked && lostMonoMs + options.deadlineMs <= ports.monoMs();
    if (givenUp || calls.size >= admissionsWaitingMax) return { kind: "unavailable" };
    const outcome = await call({ kind: "authorize", id: ++lastId, credential }, options.deadlineMs);
    return outcome.ok ? (outcome.body as Authorized | Denied) : { kind: "unavailable" };
  }

  function lost(): void {
    const wasLinked = linked;
    send = null;
    linked = false;
    notices.limited = true;
    for (const admission of questions.lost()) if (!admission.settled) admission.lease = 0;
    if (!wasLinked) return;
    lostMonoMs = ports.monoMs();
    calls.lost();
    ports.onLinkChange(false);
  }

  function received(message: FromDaemon): void {
    answering = true;
    switch (message.kind) {
      case "admitted":
        return onAdmitted(message);
      case "refused":
      case "exceeded":
      case "denied":
        return onRefused(message);
      case "authorized":
        return calls.answer(message.id, { ok: true, body: message });
      case "settled":
        return unsettled.acknowledge(message.seq);
      case "welcome":
        return onWelcome(message);
      case "event":
        return applyEvent(notices, message);
      case "answer":
        return calls.answer(message.id, { ok: true, body: message.body });
      case "failed":
        return calls.answer(message.id, { ok: false, failure: message.failure });
    }
  }

  return {
    link: { connected, received, lost },
    get reachable() {
      return linked && answering;
    },
    get unsettled() {
      return unsettled.items.length;
    },
    get inertRules() {
      return notices.inertRules;
    },
    get inertBudgets() {
      return notices.inertBudgets;
    },
    get storeFailing() {
      return notices.storeFailing;
    },
    get keysExist() {
      return notices.keysExist;
    },
    admit: (caller, targets, submission = false) =>
      ask({ caller, targets, rerouted: null, submission }),
    authorize,
    reroute,
    settle,
    settleCached,
    noteRefusal(id, requestId, model) {
      if (linked) send!({ kind: "refusal", id, requestId, model });
    },
    call: (op, body) => call({ kind: "admin", id: ++lastId, op, body }, callDeadlineMs),
    drained(ms) {
      return new Promise((resolve) => {
        unsettled.whenEmpty(resolve);
        if (unsettled.items.length > 0) ports.schedule(ms, resolve);
      });
    },
  };
}

/** An admin operation waits for a commit, which an admission does not. */
const callDeadlineMs = 5_000;
