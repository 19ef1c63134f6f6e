/**
 * What each lease is counted for: its request at the path, and each attempt at a target, from the
 * admission, the reroute or the settle that the daemon has handled. What becomes doubtful at a
 * crash is decided in `crash-toll.ts`, what windows make of it in `truth.ts`.
 */
import {
  type Admit,
  type Admitted,
  type Lease,
  type Reroute,
  type Settle,
  type Target,
  unlimitedLsn,
} from "../../../shared/wire/message.js";
import { describeTarget } from "../describe-message.js";
import type { World } from "../world.js";
import {
  type DeathOf,
  survivors,
  type WitnessedCharge,
  type WitnessedRequest,
} from "./crash-toll.js";
import type { Truth } from "./truth.js";

interface HeldTarget {
  readonly target: Target;
  /** Null when its rules weren't asked. */
  readonly attempt: WitnessedRequest | null;
  readonly release: () => void;
}

/** A lease of a connection, as the daemon holds it. */
export interface HeldLease {
  readonly path: string;
  readonly request: WitnessedRequest;
  readonly releasePath: () => void;
  target: HeldTarget | null;
}

export type HeldLeases = Map<number, HeldLease>;

/** When a message is handled. */
export interface Moment {
  readonly tick: number;
  readonly life: number;
  readonly nowMs: number;
  /** This life's first snapshot has begun. */
  readonly late: boolean;
  /** No rule that is there is older. */
  readonly rulesSinceMs: number;
}

export interface LeaseAccount {
  /** Every charge that counts, with its proxy. */
  readonly charges: readonly WitnessedCharge[];
  readonly doubtful: number;
  admitted(proxyId: string, leases: HeldLeases, asked: Admit, answer: Admitted, at: Moment): void;
  /** The target has failed, or is left: its slot is free. */
  leaveTarget(held: HeldLease): void;
  rerouted(proxyId: string, leases: HeldLeases, asked: Reroute, answer: Admitted, at: Moment): void;
  told(proxyId: string, leases: HeldLeases, lease: Lease, at: Moment): void;
  /** A settle that has come before. */
  repeated(leases: HeldLeases, message: Settle): void;
  settled(proxyId: string, leases: HeldLeases, message: Settle, at: Moment): void;
  closed(leases: HeldLeases): void;
  died(death: DeathOf): void;
}

export function createLeaseAccount(world: World, truth: Truth): LeaseAccount {
  let charges: WitnessedCharge[] = [];
  let requests: WitnessedRequest[] = [];
  const known = new Map<string, WitnessedRequest>();
  const submissions = new WeakSet<WitnessedRequest>();

  const keyOf = (proxyId: string, lease: number, lsn: number, target: Target | null): string =>
    `${proxyId} ${lease} ${lsn} ${target === null ? "path" : describeTarget(target)}`;

  function count(
    fields: Pick<WitnessedRequest, "of" | "proxyId" | "lease" | "lsn" | "atMs" | "unasked">,
    { tick, life }: Moment,
  ): WitnessedRequest {
    const request: WitnessedRequest = {
      ...fields,
      tick,
      life,
      countedLife: life,
      countedTick: tick,
      certain: true,
      withdrawn: false,
      late: false,
      lost: false,
      seq: 0,
      wasCertain: true,
      withdrawnTick: 0,
      unnamed: false,
    };
    requests.push(request);
    truth.addRequest(request);
    if (!request.unasked)
      known.set(keyOf(request.proxyId, request.lease, request.lsn, request.of.target), request);
    return request;
  }

  function takeTarget(held: HeldLease, target: Target, attempt: WitnessedRequest | null): void {
    held.target = { target, attempt, release: truth.hold({ path: null, target }) };
  }

  function leaveTarget(held: HeldLease): void {
    held.target?.release();
    held.target = null;
  }

  function giveBack(leases: HeldLeases, lease: number): void {
    const held = leases.get(lease);
    if (held === undefined) return;
    held.releasePath();
    leaveTarget(held);
    leases.delete(lease);
  }

  /** A request of an earlier life is told of again: it must be counted now, if it wasn't. */
  function tellAgain(request: WitnessedRequest, { life, tick, late }: Moment): void {
    if (request.life === life || request.certain || request.lost) return;
    truth.restate(request, () =>
      Object.assign(request, { certain: true, countedLife: life, countedTick: tick, late }),
    );
    world.count("request told again after a crash");
  }

  function withdraw(
    request: WitnessedRequest,
    { life, tick, late }: Moment,
    unnamed: boolean,
  ): void {
    const lateNow = late && request.life !== life && !request.certain;
    truth.restate(request, () =>
      Object.assign(request, {
        withdrawn: true,
        wasCertain: request.certain,
        certain: !request.lost,
        withdrawnTick: tick,
        unnamed,
        late: request.late || lateNow,
      }),
    );
    world.count(unnamed ? "late target withdrawn" : "late admission withdrawn");
  }

  /**
   * What the daemon has counted under this number, for a message that must name something known.
   */
  function find(
    proxyId: string,
    lease: number,
    lsn: number,
    target: Target | null,
  ): WitnessedRequest {
    const key = keyOf(proxyId, lease, lsn, target);
    return (
      known.get(key) ?? world.fail(`${proxyId} tells of a lease that it was never granted: ${key}`)
    );
  }

  function endedBy(request: WitnessedRequest, { seq }: Settle): void {
    if (request.seq !== 0 && request.seq !== seq)
      world.fail(
        `${keyOf(request.proxyId, request.lease, request.lsn, request.of.target)} is settled twice, by ${request.seq} and ${seq}`,
      );
    request.seq = seq;
  }

  /** Releases what this settle ends; returns the lease as it was. */
  function release(leases: HeldLeases, { lease, part, target }: Settle): HeldLease | undefined {
    const held = leases.get(lease);
    if (held === undefined) return undefined;
    const was = { ...held };
    if (part !== "attempt") giveBack(leases, lease);
    else if (isSame(held.target?.target, target)) leaveTarget(held);
    return was;
  }

  /** A submission is held without a slot. */
  function holdPath(request: WitnessedRequest, path: string, submission: boolean): HeldLease {
    return {
      path,
      request,
      releasePath: submission ? () => {} : truth.hold({ path, target: null }),
      target: null,
    };
  }

  return {
    get charges() {
      return charges;
    },
    get doubtful() {
      return requests.filter(({ certain }) => !certain).length;
    },
    admitted(
      proxyId,
      leases,
      { userPath: path, targets, submission },
      { id, target: index, admittedAtMs, lsn },
      at,
    ) {
      const target = targets[index]!;
      const fields = { proxyId, lease: id, lsn, atMs: admittedAtMs, unasked: false };
      const request = count({ ...fields, of: { path, target: null } }, at);
      if (submission) submissions.add(request);
      const held = holdPath(request, path, submission);
      if (!submission)
        takeTarget(held, target, count({ ...fields, of: { path: null, target } }, at));
      leases.set(id, held);
    },
    leaveTarget,
    rerouted(proxyId, leases, { lease, targets }, { target: index, admittedAtMs, lsn }, at) {
      const target = targets[index]!;
      takeTarget(
        leases.get(lease)!,
        target,
        count(
          { proxyId, lease, lsn, atMs: admittedAtMs, unasked: false, of: { path: null, target } },
          at,
        ),
      );
    },
    told(proxyId, leases, { lease, userPath: path, lsn, target, targetLsn, submission }, at) {
      world.count(submission ? "submission told again" : "lease told again");
      const request = find(proxyId, lease, lsn, null);
      if (submission !== submissions.has(request))
        world.fail(`${proxyId} tells lease ${lease} again as ${submission ? "" : "no "}submission`);
      tellAgain(request, at);
      const held = holdPath(request, path, submission);
      leases.set(lease, held);
      if (submission) return;
      if (target === null) return world.count("lease told again between two targets");
      const attempt = targetLsn === 0 ? null : find(proxyId, lease, targetLsn, target);
      takeTarget(held, target, attempt);
      if (attempt !== null) tellAgain(attempt, at);
    },
    repeated: (leases, message) => void release(leases, message),
    settled(proxyId, leases, message, at) {
      const { lease, lsn, seq, part, userPath: path, target, targetLsn, tokens } = message;
      const held = release(leases, message);
      const startedAtMs = Math.max(0, at.nowMs - message.startedAgoMs);
      const endedAtMs = Math.max(0, at.nowMs - message.endedAgoMs);
      const unasked = { proxyId, lease, lsn: 0, atMs: startedAtMs, unasked: true };
      // There was no rule, and none that came while it ran counts it.
      const beforeRules =
        lsn === unlimitedLsn && startedAtMs < at.rulesSinceMs && at.rulesSinceMs <= at.nowMs;
      if (beforeRules) world.count("request from before all rules");
      const isAsked = (number: number): boolean => number !== 0 && number !== unlimitedLsn;
      const settledAt = (request: WitnessedRequest): void => {
        endedBy(request, message);
        if (part === "withdrawn") withdraw(request, at, false);
        else tellAgain(request, at);
      };
      if (target !== null && !beforeRules) {
        const ofHeld = isSame(held?.target?.target, target) ? held!.target!.attempt : null;
        settledAt(
          isAsked(targetLsn)
            ? find(proxyId, lease, targetLsn, target)
            : (ofHeld ?? count({ ...unasked, of: { path: null, target } }, at)),
        );
      }
      if (part !== "attempt" && !beforeRules)
        settledAt(
          isAsked(lsn)
            ? find(proxyId, lease, lsn, null)
            : (held?.request ?? count({ ...unasked, of: { path, target: null } }, at)),
        );
      const left = held?.target?.attempt ?? null;
      if (part === "request" && left?.life === at.life && !isSame(left.of.target, target))
        withdraw(left, at, true);
      const charge = {
        of: { path: part === "attempt" ? null : path, target },
        tick: at.tick,
        atMs: endedAtMs,
        tokens,
        proxyId,
        seq,
        part,
      };
      charges.push(charge);
      truth.addTokens(charge);
    },
    closed(leases) {
      for (const lease of [...leases.keys()]) giveBack(leases, lease);
    },
    died(death) {
      const left = survivors(requests, charges, death);
      [requests, charges] = [left.requests, left.charges];
      truth.startOver(requests, charges);
    },
  };
}

function isSame(a: Target | null | undefined, b: Target | null): boolean {
  return a?.provider === b?.provider && a?.model === b?.model;
}
