/**
 * The proxy's side of the wire: admissions, settles and admin calls over one connection that may come
 * and go. It knows what it holds and what is not yet acknowledged, tells both after a reconnect, and
 * applies the failure mode when the daemon is away past its deadline. What a verdict means for HTTP is
 * not here.
 */
import type { FailureMode } from "../shared/config/config.js";
import { admissionsWaitingMax } from "../shared/bounds.js";
import { assert, isCount } from "../shared/assert.js";
import { helloMessages } from "./hello.js";
import { createDaemonCalls } from "./daemon-calls.js";
import type { Admission, AdmissionOutcome, Limiter, Spent } from "./limiter.js";
import { createUnsettledQueue, settleMessage } from "./unsettled.js";
import type { Admitted, FromDaemon, Refused, Target, ToDaemon, Welcome } from "../shared/wire/message.js";

export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` when what was sent in this turn of the event loop has left. */
  afterTurn(run: () => void): void;
  onLinkChange(linked: boolean): void;
  /** The connection stands, but an admission got no answer in time. */
  onSilent(): void;
  onDropped(settles: number): void;
}

export interface LimiterClientOptions {
  readonly deadlineMs: number;
  readonly failureMode: FailureMode;
}

/** What the socket's owner calls. */
export interface LimiterLink {
  connected(send: (message: ToDaemon) => void): void;
  received(message: FromDaemon): void;
  lost(): void;
}

export interface LimiterClient extends Limiter {
  readonly link: LimiterLink;
}

interface Waiting {
  readonly userPath: string;
  readonly targets: readonly Target[];
  readonly deadlineMonoMs: number;
  readonly startedMonoMs: number;
  readonly resolve: (outcome: AdmissionOutcome) => void;
}

export function createLimiterClient(ports: LimiterClientPorts, options: LimiterClientOptions): LimiterClient {
  let send: ((message: ToDaemon) => void) | null = null;
  let linked = false;
  let limited = true;
  let inertRules: number | null = null;
  /** False from an admission that expired on a standing connection until the daemon says anything. */
  let answering = true;
  let lostMonoMs = ports.monoMs();
  let lastId = 0;
  let watching = false;
  let finishers: (() => void)[] = [];
  const waiting = new Map<number, Waiting>();
  const calls = createDaemonCalls();
  const held = new Map<number, Admission>();
  /** Let through after the deadline (`open`) while the daemon may still answer; under the lease that it will know them by. */
  const late = new Map<number, Admission>();
  const unsettled = createUnsettledQueue(ports.onDropped);

  function unasked(userPath: string, targets: readonly Target[], startedMonoMs: number): Admission {
    return { lease: 0, admittedAtMs: 0, lsn: 0, userPath, target: targets[0]!, startedMonoMs, settled: false };
  }

  function admit(userPath: string, targets: readonly Target[]): Promise<AdmissionOutcome> {
    assert(targets.length > 0, "an admission has a target");
    const now = ports.monoMs();
    if (linked && !limited) return Promise.resolve({ kind: "admitted", admission: unasked(userPath, targets, now), headers: null });
    const deadlineMonoMs = (linked ? now : Math.min(now, lostMonoMs)) + options.deadlineMs;
    if (deadlineMonoMs <= now || waiting.size >= admissionsWaitingMax) return Promise.resolve(withoutDaemon(userPath, targets, now));
    const id = ++lastId;
    return new Promise((resolve) => {
      waiting.set(id, { userPath, targets, deadlineMonoMs, startedMonoMs: now, resolve });
      if (linked) send!({ kind: "admit", id, userPath, targets });
      watch();
    });
  }

  function withoutDaemon(userPath: string, targets: readonly Target[], startedMonoMs: number): AdmissionOutcome {
    if (options.failureMode === "closed") return { kind: "unavailable" };
    return { kind: "admitted", admission: unasked(userPath, targets, startedMonoMs), headers: null };
  }

  /** One timer for all deadlines: they are as long as each other, so the first that waits is the first to expire. */
  function watch(): void {
    if (watching) return;
    watching = true;
    ports.schedule(Math.max(10, options.deadlineMs / 10), () => {
      watching = false;
      expire(ports.monoMs());
      if (waiting.size > 0 || calls.size > 0) watch();
    });
  }

  function expire(now: number): void {
    for (const [id, request] of waiting) {
      if (request.deadlineMonoMs > now) break;
      waiting.delete(id);
      if (linked && answering) {
        answering = false;
        ports.onSilent();
      }
      const outcome = withoutDaemon(request.userPath, request.targets, request.startedMonoMs);
      if (outcome.kind === "admitted" && linked && late.size < admissionsWaitingMax) {
        outcome.admission.lease = id;
        late.set(id, outcome.admission);
      }
      request.resolve(outcome);
    }
    calls.expire(now);
  }

  function onAdmitted(message: Admitted): void {
    const request = waiting.get(message.id);
    if (request === undefined) return onLateAdmitted(message);
    waiting.delete(message.id);
    const target = request.targets[message.target];
    assert(target !== undefined, "the daemon chose one of the targets");
    const admission: Admission = { lease: message.id, admittedAtMs: message.admittedAtMs, lsn: message.lsn, userPath: request.userPath, target, startedMonoMs: request.startedMonoMs, settled: false };
    held.set(message.id, admission);
    request.resolve({ kind: "admitted", admission, headers: message.headers });
  }

  /** An answer after the deadline: whoever went on without it holds the lease now, else it is given back. */
  function onLateAdmitted({ id, admittedAtMs, lsn }: Admitted): void {
    const known = late.get(id);
    late.delete(id);
    const admission = known ?? unasked("/", [nobody], ports.monoMs());
    Object.assign(admission, { lease: id, admittedAtMs, lsn });
    // Settled meanwhile, under this very lease: the daemon has it behind its own answer.
    if (admission.settled) return;
    held.set(id, admission);
    if (known === undefined) settle(admission, { tokens: 0, estimated: false }, () => {});
  }

  function onRefused(message: Refused): void {
    const known = late.get(message.id);
    late.delete(message.id);
    // It went on all the same, and is counted with its settle.
    if (known !== undefined && !known.settled) known.lease = 0;
    waiting.get(message.id)?.resolve({ kind: "refused", id: message.id, breach: message });
    waiting.delete(message.id);
  }

  function settle(admission: Admission, spent: Spent, then: () => void): void {
    assert(!admission.settled, "one settle per admission");
    assert(isCount(spent.tokens), "tokens are counted whole");
    admission.settled = true;
    if (admission.lease !== 0) held.delete(admission.lease);
    const { lease, userPath, target, admittedAtMs, lsn, startedMonoMs } = admission;
    const { tokens, estimated } = spent;
    const item = unsettled.add({ tokens, estimated, lease, userPath, provider: target.provider, model: target.model, admittedAtMs, lsn, startedMonoMs, endedMonoMs: ports.monoMs() });
    if (linked) send!(settleMessage(item, item.endedMonoMs));
    finishers.push(then);
    if (finishers.length === 1) ports.afterTurn(finish);
  }

  function finish(): void {
    const run = finishers;
    finishers = [];
    for (const then of run) then();
  }

  function connected(to: (message: ToDaemon) => void): void {
    send = to;
    for (const hello of helloMessages(ports.proxyId, [...held.values()], () => ++lastId)) to(hello);
  }

  /** Settles first: what they give back is there for the admissions behind them. */
  function onWelcome(message: Welcome): void {
    linked = true;
    limited = message.limited;
    inertRules = message.inertRules;
    unsettled.acknowledge(message.settledSeq);
    const now = ports.monoMs();
    for (const item of unsettled.items) send!(settleMessage(item, now));
    for (const [id, { userPath, targets }] of waiting) send!({ kind: "admit", id, userPath, targets });
    sendCalls();
    ports.onLinkChange(true);
  }

  const sendCalls = (): void => calls.unsent((id, op, body) => send!({ kind: "admin", id, op, body }));

  function lost(): void {
    const wasLinked = linked;
    send = null;
    linked = false;
    limited = true;
    for (const admission of late.values()) if (!admission.settled) admission.lease = 0;
    late.clear();
    if (!wasLinked) return;
    lostMonoMs = ports.monoMs();
    calls.lost();
    ports.onLinkChange(false);
  }

  function received(message: FromDaemon): void {
    answering = true;
    switch (message.kind) {
      case "admitted": return onAdmitted(message);
      case "refused": return onRefused(message);
      case "settled": return unsettled.acknowledge(message.seq);
      case "welcome": return onWelcome(message);
      case "event": {
        if (message.name === "limited") limited = message.value;
        else inertRules = message.value;
        return;
      }
      case "answer": return calls.answer(message.id, { ok: true, body: message.body });
      case "failed": return calls.answer(message.id, { ok: false, failure: message.failure });
    }
  }

  return {
    link: { connected, received, lost },
    get reachable() { return linked && answering; },
    get unsettled() { return unsettled.items.length; },
    get inertRules() { return inertRules; },
    admit,
    settle,
    noteRefusal(id, requestId, model) {
      if (linked) send!({ kind: "refusal", id, requestId, model });
    },
    call(op, body) {
      // As for admissions: who calls while the daemon is away waits for it, but not longer than anybody else.
      const deadlineMonoMs = linked ? ports.monoMs() + callDeadlineMs : lostMonoMs + options.deadlineMs;
      const outcome = calls.add(++lastId, op, body, deadlineMonoMs);
      if (linked) sendCalls();
      watch();
      return outcome;
    },
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

/** Stands for the target of a request that has been answered without one. */
const nobody: Target = { provider: "none", model: "none" };
