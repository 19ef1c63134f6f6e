/**
 * The proxy's side of the wire: admissions, settles and admin calls over one connection that may come
 * and go. It knows what it holds and what is not yet acknowledged, tells both after a reconnect, and
 * applies the failure mode when the daemon is away past its deadline. What a verdict means for HTTP is
 * not here.
 */
import type { FailureMode } from "../shared/config/config.js";
import { admissionsWaitingMax, leasesPerHello, unsettledMax } from "../shared/bounds.js";
import { assert, isCount } from "../shared/assert.js";
import { type Failure, failure } from "../shared/error-code.js";
import { wireVersion } from "../shared/version.js";
import type { AdminOp, Admitted, Breach, FromDaemon, Lease, SuccessHeaders, Target, ToDaemon, Welcome } from "../shared/wire/message.js";

/** A request that may go to its target, until it is settled. `lease` 0: it was let through unasked. */
export interface Admission {
  lease: number;
  admittedAtMs: number;
  lsn: number;
  readonly userPath: string;
  readonly target: Target;
  readonly startedMonoMs: number;
  settled: boolean;
}

export type AdmissionOutcome =
  | { readonly kind: "admitted"; readonly admission: Admission; readonly headers: SuccessHeaders | null }
  | { readonly kind: "refused"; readonly breach: Breach }
  | { readonly kind: "unavailable" };

/** What a request used. */
export interface Spent {
  readonly tokens: number;
  readonly estimated: boolean;
}

export type CallOutcome = { readonly ok: true; readonly body: unknown } | { readonly ok: false; readonly failure: Failure };

export interface LimiterClientPorts {
  readonly proxyId: string;
  /** Monotonic milliseconds. */
  monoMs(): number;
  schedule(ms: number, run: () => void): void;
  /** Runs `run` when what was sent in this turn of the event loop has left. */
  afterTurn(run: () => void): void;
  onLinkChange(linked: boolean): void;
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

export interface LimiterClient {
  readonly link: LimiterLink;
  /** Whether the daemon is there and has welcomed this proxy. */
  readonly linked: boolean;
  readonly unsettled: number;
  /** Asks for one request; at once, without the daemon, when no rule exists. Never rejects, ends within the deadline. */
  admit(userPath: string, targets: readonly Target[]): Promise<AdmissionOutcome>;
  /** Ends an admission, exactly once; `then` runs when the settle has left the process. */
  settle(admission: Admission, spent: Spent, then: () => void): void;
  /** An admin operation; ends within the deadline. */
  call(op: AdminOp, body: unknown): Promise<CallOutcome>;
  /** Resolved when nothing is unsettled, or after `ms`. */
  drained(ms: number): Promise<void>;
}

interface Waiting {
  readonly userPath: string;
  readonly targets: readonly Target[];
  readonly deadlineMonoMs: number;
  readonly startedMonoMs: number;
  readonly resolve: (outcome: AdmissionOutcome) => void;
}

/** Only what the settle says: whatever else hung on it would stay in memory until the acknowledgement. */
interface Unsettled extends Lease, Spent {
  readonly seq: number;
  readonly startedMonoMs: number;
  readonly endedMonoMs: number;
}

interface Call {
  readonly op: AdminOp;
  readonly body: unknown;
  readonly deadlineMonoMs: number;
  /** Whether a daemon may have done it: then it isn't sent again. */
  sent: boolean;
  readonly resolve: (outcome: CallOutcome) => void;
}

export function createLimiterClient(ports: LimiterClientPorts, options: LimiterClientOptions): LimiterClient {
  let send: ((message: ToDaemon) => void) | null = null;
  let linked = false;
  let limited = true;
  let lostMonoMs = ports.monoMs();
  let lastId = 0;
  let lastSeq = 0;
  let watching = false;
  let finishers: (() => void)[] = [];
  let drainWaiters: (() => void)[] = [];
  const waiting = new Map<number, Waiting>();
  const calls = new Map<number, Call>();
  const held = new Map<number, Admission>();
  /** Let through after the deadline (`open`), while the daemon may still answer. */
  const late = new Map<number, Admission>();
  const unsettled: Unsettled[] = [];

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
      const outcome = withoutDaemon(request.userPath, request.targets, request.startedMonoMs);
      if (outcome.kind === "admitted" && linked) late.set(id, outcome.admission);
      request.resolve(outcome);
    }
    for (const [id, call] of calls) {
      if (call.deadlineMonoMs > now) continue;
      calls.delete(id);
      call.resolve({ ok: false, failure: limiterUnavailable() });
    }
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

  /** An answer after the deadline: whoever went on without it takes the lease over, else it is given back. */
  function onLateAdmitted(message: Admitted): void {
    const known = late.get(message.id);
    late.delete(message.id);
    const admission = known === undefined || known.settled ? { ...unasked("/", [{ provider: "none", model: "none" }], ports.monoMs()) } : known;
    Object.assign(admission, { lease: message.id, admittedAtMs: message.admittedAtMs, lsn: message.lsn });
    held.set(message.id, admission);
    if (admission !== known) settle(admission, { tokens: 0, estimated: false }, () => {});
  }

  function settle(admission: Admission, spent: Spent, then: () => void): void {
    assert(!admission.settled, "one settle per admission");
    assert(isCount(spent.tokens), "tokens are counted whole");
    admission.settled = true;
    if (admission.lease !== 0) held.delete(admission.lease);
    const { lease, userPath, target, admittedAtMs, lsn, startedMonoMs } = admission;
    const item: Unsettled = {
      seq: ++lastSeq, lease, userPath, provider: target.provider, model: target.model, admittedAtMs, lsn,
      startedMonoMs, endedMonoMs: ports.monoMs(), tokens: spent.tokens, estimated: spent.estimated,
    };
    unsettled.push(item);
    if (unsettled.length > unsettledMax) {
      unsettled.shift();
      ports.onDropped(1);
    }
    if (linked) sendSettle(item, item.endedMonoMs);
    finishers.push(then);
    if (finishers.length === 1) ports.afterTurn(finish);
  }

  function finish(): void {
    const run = finishers;
    finishers = [];
    for (const then of run) then();
  }

  function sendSettle(item: Unsettled, now: number): void {
    const { seq, lease, userPath, provider, model, admittedAtMs, lsn, tokens, estimated } = item;
    send!({
      kind: "settle", seq, lease, userPath, provider, model, admittedAtMs, lsn,
      startedAgoMs: ago(item.startedMonoMs, now), endedAgoMs: ago(item.endedMonoMs, now), tokens, estimated,
    });
  }

  function acknowledged(seq: number): void {
    let covered = 0;
    while (covered < unsettled.length && unsettled[covered]!.seq <= seq) covered++;
    if (covered > 0) unsettled.splice(0, covered);
    if (unsettled.length > 0) return;
    const run = drainWaiters;
    drainWaiters = [];
    for (const resolve of run) resolve();
  }

  function connected(to: (message: ToDaemon) => void): void {
    send = to;
    const leases: Lease[] = [...held.values()].map(({ lease, userPath, target, admittedAtMs, lsn }) => ({ lease, userPath, ...target, admittedAtMs, lsn }));
    do {
      const told = leases.splice(0, leasesPerHello);
      to({ kind: "hello", id: ++lastId, wireVersion, role: "proxy", proxyId: ports.proxyId, leases: told, more: leases.length > 0 });
    } while (leases.length > 0);
  }

  /** Settles first: what they give back is there for the admissions behind them. */
  function onWelcome(message: Welcome): void {
    linked = true;
    limited = message.limited;
    acknowledged(message.settledSeq);
    const now = ports.monoMs();
    for (const item of unsettled) sendSettle(item, now);
    for (const [id, { userPath, targets }] of waiting) send!({ kind: "admit", id, userPath, targets });
    for (const [id, call] of calls) sendCall(id, call);
    ports.onLinkChange(true);
  }

  function sendCall(id: number, call: Call): void {
    call.sent = true;
    send!({ kind: "admin", id, op: call.op, body: call.body });
  }

  function lost(): void {
    const wasLinked = linked;
    send = null;
    linked = false;
    limited = true;
    late.clear();
    if (!wasLinked) return;
    lostMonoMs = ports.monoMs();
    for (const [id, call] of calls) {
      if (!call.sent) continue;
      calls.delete(id);
      call.resolve({ ok: false, failure: limiterUnavailable() });
    }
    ports.onLinkChange(false);
  }

  function received(message: FromDaemon): void {
    switch (message.kind) {
      case "admitted": return onAdmitted(message);
      case "refused": {
        waiting.get(message.id)?.resolve({ kind: "refused", breach: message });
        waiting.delete(message.id);
        late.delete(message.id);
        return;
      }
      case "settled": return acknowledged(message.seq);
      case "welcome": return onWelcome(message);
      case "event": {
        limited = message.value;
        return;
      }
      case "answer": return answer(message.id, { ok: true, body: message.body });
      case "failed": return answer(message.id, { ok: false, failure: message.failure });
    }
  }

  function answer(id: number, outcome: CallOutcome): void {
    calls.get(id)?.resolve(outcome);
    calls.delete(id);
  }

  return {
    link: { connected, received, lost },
    get linked() { return linked; },
    get unsettled() { return unsettled.length; },
    admit,
    settle,
    call(op, body) {
      return new Promise((resolve) => {
        const id = ++lastId;
        // As for admissions: who calls while the daemon is away waits for it, but not longer than anybody else.
        const deadlineMonoMs = linked ? ports.monoMs() + callDeadlineMs : lostMonoMs + options.deadlineMs;
        const call: Call = { op, body, deadlineMonoMs, sent: false, resolve };
        calls.set(id, call);
        if (linked) sendCall(id, call);
        watch();
      });
    },
    drained(ms) {
      if (unsettled.length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        drainWaiters.push(resolve);
        ports.schedule(ms, resolve);
      });
    },
  };
}

/** An admin operation waits for a commit, which an admission does not. */
const callDeadlineMs = 5_000;

/** The one 503 for a daemon that doesn't answer. */
export function limiterUnavailable(): Failure {
  return failure("limiter_unavailable", "the limiter daemon does not answer");
}

function ago(thenMonoMs: number, nowMonoMs: number): number {
  return Math.max(0, Math.round(nowMonoMs - thenMonoMs));
}
