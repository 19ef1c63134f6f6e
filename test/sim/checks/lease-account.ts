/**
 * Follows each lease through the messages that the daemon has handled. Counts its request at the
 * path and each attempt at a target; `request-register.ts` lists them all.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import { uncountedLsn, unlimitedLsn } from "../../../shared/wire/lsn.js";
import type { Admitted } from "../../../shared/wire/message-from-daemon.js";
import type { Admit, Lease, Reroute, Settle } from "../../../shared/wire/message-to-daemon.js";
import type { OracleUse } from "../../limiterd/oracle.js";
import type { World } from "../world.js";
import type { WitnessedRequest } from "./crash-losses.js";
import type { Moment, RequestRegister } from "./request-register.js";
import type { Truth } from "./truth.js";

interface HeldTarget {
  readonly target: Target;
  /** Null if the proxy used the target without a verdict. */
  readonly attempt: WitnessedRequest | null;
  readonly release: () => void;
}

/** A lease of a connection, as the daemon holds it. */
interface HeldLease {
  readonly path: string;
  /** Null if the proxy sent it without a verdict: then its settle counts it. */
  readonly request: WitnessedRequest | null;
  readonly releasePath: () => void;
  target: HeldTarget | null;
}

/** A connection, with the leases that it holds. */
export interface LeaseHolder {
  proxyId: string;
  readonly end: object;
  /** The id of its first hello. */
  helloId: number;
  /** Whether the proxy reports which verdicts it has read. */
  tellsRead: boolean;
  /** Whether the proxy has left this connection for a newer one: its messages aren't answered. */
  hasLeft: boolean;
  readonly leases: Map<number, HeldLease>;
}

export class LeaseAccount {
  readonly #world: World;
  readonly #truth: Truth;
  readonly #register: RequestRegister;
  readonly #submissions = new WeakSet<WitnessedRequest>();

  constructor(world: World, truth: Truth, register: RequestRegister) {
    this.#world = world;
    this.#truth = truth;
    this.#register = register;
  }

  admitted(
    { proxyId, leases }: LeaseHolder,
    { userPath: path, targets, submission }: Admit,
    { id, target: index, admittedAtMs, lsn }: Admitted,
    moment: Moment,
  ): readonly WitnessedRequest[] {
    const target = targets[index]!;
    const fields = { proxyId, lease: id, lsn, atMs: admittedAtMs, isUnasked: false };
    const request = this.#register.count(
      { ...fields, place: { path, atPath: true, target: null } },
      moment,
    );
    if (submission) this.#submissions.add(request);
    const held = this.#holdPath(request, path, submission);
    leases.set(id, held);
    if (submission) return [request];
    const attempt = this.#register.count(
      { ...fields, place: { path, atPath: false, target } },
      moment,
    );
    this.#takeTarget(held, target, attempt);
    return [request, attempt];
  }

  rerouted(
    { proxyId, leases }: LeaseHolder,
    { lease, targets }: Reroute,
    { target: index, admittedAtMs, lsn }: Admitted,
    moment: Moment,
  ): readonly WitnessedRequest[] {
    const target = targets[index]!;
    const held = leases.get(lease)!;
    const place = { path: held.path, atPath: false, target };
    const attempt = this.#register.count(
      { proxyId, lease, lsn, atMs: admittedAtMs, isUnasked: false, place },
      moment,
    );
    this.#takeTarget(held, target, attempt);
    return [attempt];
  }

  /**
   * A proxy reports a lease that it holds: after a reconnect, or because it continues without a
   * verdict.
   */
  reported(holder: LeaseHolder, reported: Lease, moment: Moment): void {
    const { proxyId, leases } = holder;
    const { lease, userPath: path, lsn, target, targetLsn, submission } = reported;
    this.#giveBack(leases, lease);
    if (lsn === uncountedLsn) return this.#reportedUnasked(holder, reported, moment);
    this.#world.count(submission ? "submission reported again" : "lease reported again");
    const request = this.#register.find({ proxyId, lease, lsn }, null);
    if (submission !== this.#submissions.has(request))
      this.#world.fail(
        `${proxyId} reports lease ${lease} again as ${submission ? "" : "no "}submission`,
      );
    this.#register.reportedAgain(request, moment);
    const held = this.#holdPath(request, path, submission);
    leases.set(lease, held);
    if (submission) return;
    if (target === null) return this.#world.count("lease reported again between two targets");
    const attempt = isNumbered(targetLsn)
      ? this.#register.find({ proxyId, lease, lsn: targetLsn }, target)
      : null;
    if (targetLsn === uncountedLsn) this.#world.count("target without a verdict reported");
    this.#takeTarget(held, target, attempt);
    if (attempt !== null) this.#register.reportedAgain(attempt, moment);
  }

  /**
   * A request that was sent without a verdict. It holds its slots, and its settle counts it. An
   * attempt at a later target is counted as usual.
   */
  #reportedUnasked({ proxyId, leases }: LeaseHolder, reported: Lease, moment: Moment): void {
    const { lease, userPath: path, target, targetLsn, submission } = reported;
    if (submission) this.#world.fail(`${proxyId} reports a submission that went without a verdict`);
    this.#world.count("request without a verdict reported");
    const held = this.#holdPath(null, path, false);
    leases.set(lease, held);
    if (target === null) return;
    const attempt = isNumbered(targetLsn)
      ? this.#register.find({ proxyId, lease, lsn: targetLsn }, target)
      : null;
    this.#takeTarget(held, target, attempt);
    if (attempt !== null) this.#register.reportedAgain(attempt, moment);
  }

  settled(holder: LeaseHolder, message: Settle, moment: Moment): void {
    const { proxyId } = holder;
    const { lease, lsn, seq, part, userPath: path, target, targetLsn } = message;
    const use = useOf(message);
    if (part === "cached") return;
    if (part === "progress") {
      const atMs = Math.max(0, moment.nowMs - message.endedAgoMs);
      const place = { path, atPath: true, target };
      return this.#register.charge({ place, tick: moment.tick, atMs, use, proxyId, seq, part });
    }
    this.#release(holder, message);
    if (part === "untried") {
      const untried = this.#register.find({ proxyId, lease, lsn: targetLsn }, target);
      this.#register.endedBy(untried, message);
      return this.#register.withdraw(untried, moment, "late target withdrawn");
    }
    const startedAtMs = Math.max(0, moment.nowMs - message.startedAgoMs);
    const endedAtMs = Math.max(0, moment.nowMs - message.endedAgoMs);
    const { targetStartedAgoMs = message.startedAgoMs } = message;
    const targetAtMs = Math.max(0, moment.nowMs - targetStartedAgoMs);
    const unaskedFields = { proxyId, lease, lsn: 0, atMs: startedAtMs, isUnasked: true };
    // Rules that were created while a request ran don't count it.
    const isBeforeRules = startedAtMs < moment.rulesSinceMs && moment.rulesSinceMs <= moment.nowMs;
    const pathBeforeRules = lsn === unlimitedLsn && isBeforeRules;
    if (pathBeforeRules) this.#world.count("request from before all rules");
    const settledAt = (request: WitnessedRequest): void => {
      this.#register.endedBy(request, message);
      if (part === "withdrawn")
        this.#register.withdraw(request, moment, "late admission withdrawn");
      else this.#register.reportedAgain(request, moment);
    };
    const targetBeforeRules = targetLsn === unlimitedLsn && isBeforeRules;
    if (target !== null && !targetBeforeRules && targetLsn !== uncountedLsn) {
      settledAt(
        isNumbered(targetLsn)
          ? this.#register.find({ proxyId, lease, lsn: targetLsn }, target)
          : this.#register.count(
              { ...unaskedFields, atMs: targetAtMs, place: { path, atPath: false, target } },
              moment,
            ),
      );
    }
    if (part !== "attempt" && !pathBeforeRules && lsn !== uncountedLsn)
      settledAt(
        isNumbered(lsn)
          ? this.#register.find({ proxyId, lease, lsn }, null)
          : this.#register.count(
              { ...unaskedFields, place: { path, atPath: true, target: null } },
              moment,
            ),
      );
    this.#register.charge({
      place: { path, atPath: part !== "attempt", target },
      tick: moment.tick,
      atMs: endedAtMs,
      use,
      proxyId,
      seq,
      part,
    });
  }

  /** A settle that had already arrived. */
  repeated(holder: LeaseHolder, message: Settle): void {
    this.#release(holder, message);
  }

  /** A request has ended, but its settle waits behind other settles. */
  released({ leases }: LeaseHolder, lease: number): void {
    this.#world.count("slots released before the settle");
    this.#giveBack(leases, lease);
  }

  closed({ leases }: LeaseHolder): void {
    for (const lease of [...leases.keys()]) this.#giveBack(leases, lease);
  }

  /** Frees the slot of the lease's target. */
  leaveTarget(held: HeldLease): void {
    held.target?.release();
    held.target = null;
  }

  #takeTarget(held: HeldLease, target: Target, attempt: WitnessedRequest | null): void {
    held.target = {
      target,
      attempt,
      release: this.#truth.hold({ path: held.path, atPath: false, target }),
    };
  }

  /** Takes the slots of the path; a submission needs none. */
  #holdPath(request: WitnessedRequest | null, path: string, submission: boolean): HeldLease {
    const releasePath = submission
      ? () => {}
      : this.#truth.hold({ path, atPath: true, target: null });
    return { path, request, releasePath, target: null };
  }

  /** Releases the slots that a settle ends. Returns the lease as it was before. */
  #release({ leases }: LeaseHolder, { lease, part, target }: Settle): HeldLease | undefined {
    const held = leases.get(lease);
    if (held === undefined || part === "progress" || part === "untried") return held;
    const before = { ...held };
    if (part !== "attempt") this.#giveBack(leases, lease);
    else if (isSame(held.target?.target, target)) this.leaveTarget(held);
    return before;
  }

  #giveBack(leases: LeaseHolder["leases"], lease: number): void {
    const held = leases.get(lease);
    if (held === undefined) return;
    held.releasePath();
    this.leaveTarget(held);
    leases.delete(lease);
  }
}

function useOf({ tokens, record }: Settle): OracleUse {
  if (record === null) return { tokens, recorded: null };
  const reasoningTokens = record.details?.counts.reasoningTokens ?? 0;
  return {
    tokens,
    recorded: { ...record, reasoningTokens, toolCalls: record.toolCalls ?? {} },
  };
}

/** Whether the daemon has answered an admission with this number. */
function isNumbered(lsn: number): boolean {
  return lsn !== 0 && lsn !== uncountedLsn && lsn !== unlimitedLsn;
}

function isSame(a: Target | null | undefined, b: Target | null): boolean {
  return a?.provider === b?.provider && a?.model === b?.model;
}
