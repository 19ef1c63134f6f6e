/**
 * Stands beside the daemon: sees every frame before and after it is handled, all that is said and all
 * that reaches the disk, and holds it against the truth. What was certain and what becomes doubtful at a
 * crash is decided in `crash-toll.ts`.
 */
import { isDeepStrictEqual } from "node:util";
import type { DaemonState, PeerState } from "../../limiterd/state.js";
import type { Change } from "../../limiterd/store.js";
import { reunionMs } from "../../shared/bounds.js";
import type { Admit, Admitted, FromDaemon, Hello, Refused, Settle, ToDaemon } from "../../shared/wire/message.js";
import { createJudge } from "../limiterd/oracle.js";
import { counterDifference, estimateFrom, isExact } from "./compare-counters.js";
import { survivors, type WitnessedCharge, type WitnessedRequest } from "./crash-toll.js";
import { describeMessage } from "./describe-message.js";
import type { Disk } from "./disk.js";
import { createRuleHistory } from "./rule-history.js";
import { createTruth } from "./truth.js";
import type { World } from "./world.js";

export interface Witness {
  /** From the first step of the wall clock on. */
  clockStepped: boolean;
  /** A life of the daemon begins: what is on the disk must be what was answered. */
  starting(): void;
  started(state: DaemonState, isAlive: (proxyId: string) => boolean): void;
  dead(): void;
  snapshotStarts(): void;
  /** What a frame does is what `handle` does. */
  frame(peer: PeerState, message: ToDaemon, nowMs: number, handle: () => void): void;
  sent(peer: PeerState, message: FromDaemon): void;
  closed(peer: PeerState): void;
  applied(changes: readonly Change[]): void;
  /** Holds the daemon's counters against the truth. */
  check(nowMs: number): void;
  /** Every charge that counts, with its proxy. */
  readonly charges: readonly WitnessedCharge[];
  readonly doubtful: number;
}

interface Held {
  readonly release: () => void;
  readonly request: WitnessedRequest;
}

interface SeenPeer {
  proxyId: string;
  readonly leases: Map<number, Held>;
}

export function createWitness(world: World, disk: Disk): Witness {
  const truth = createTruth();
  const rules = createRuleHistory(world, disk, truth);
  let charges: WitnessedCharge[] = [];
  let requests: WitnessedRequest[] = [];
  const byLease = new Map<string, WitnessedRequest>();
  /** The last settle of each proxy: told as durable, on the disk, and counted in this life. */
  const acknowledged = new Map<string, number>();
  const durable = new Map<string, number>();
  let settled = new Map<string, number>();
  let peers = new Map<PeerState, SeenPeer>();
  let state: DaemonState | null = null;
  let tick = 0;
  let lookedTick = 0;
  let looks = 0;
  let life = 0;
  let beganMs = 0;
  let snapshots = { started: 0, startedTick: 0, coveredTick: 0, completeAtMs: null as number | null };
  let awaited: { readonly proxyId: string; readonly isAlive: () => boolean }[] = [];
  let replies: FromDaemon[] = [];
  let judged = { version: -1, judge: createJudge([], () => 0n) };
  let estimate: ReturnType<typeof estimateFrom> = () => 0n;

  const lastOf = (map: ReadonlyMap<string, number>, proxyId: string): number => map.get(proxyId) ?? 0;
  const leaseKey = (proxyId: string, lease: number, lsn: number): string => `${proxyId} ${lease} ${lsn}`;

  function judge() {
    if (judged.version !== truth.version) {
      const definitions = [...truth.generations.values()].map(({ definition }) => definition);
      judged = { version: truth.version, judge: createJudge(definitions, (...args) => estimate(...args)) };
    }
    return judged.judge;
  }

  function addRequest(fields: Pick<WitnessedRequest, "of" | "atMs" | "proxyId" | "lease" | "lsn" | "unasked">): WitnessedRequest {
    const request: WitnessedRequest = { ...fields, tick, certain: true, life, countedLife: life, countedTick: tick, late: false, lost: false, elsewhere: null, seq: 0 };
    requests.push(request);
    truth.addRequest(request);
    return request;
  }

  /** A request of an earlier life is told of again: it must be counted now, if it wasn't. */
  function tellAgain(request: WitnessedRequest): void {
    if (request.certain || request.elsewhere !== null || request.lost) return;
    truth.makeCertain(request);
    Object.assign(request, { countedLife: life, countedTick: tick, late: snapshots.started > 0 });
    world.count("request told again after a crash");
  }

  /** What a snapshot covers counts from its end on; the next may begin in the same event. */
  function noteSnapshot({ lastSnapshotAtMs }: DaemonState): void {
    if (lastSnapshotAtMs === snapshots.completeAtMs) return;
    snapshots.completeAtMs = lastSnapshotAtMs;
    snapshots.coveredTick = snapshots.startedTick;
  }

  function onAdmit(seen: SeenPeer, message: Admit, nowMs: number, handle: () => void): void {
    const options = { nowMs, clockStepped: witness.clockStepped };
    estimate = estimateFrom(truth, state!.book, options);
    const expected = judge().ask(message.userPath, message.targets, nowMs);
    const exact = isExact(truth, nowMs, witness.clockStepped);
    handle();
    const reply = replies.find((said): said is Admitted | Refused => (said.kind === "admitted" || said.kind === "refused") && said.id === message.id);
    if (reply === undefined) return world.fail(`admission ${message.id} of ${seen.proxyId} isn't answered at once`);
    world.count(exact ? `${reply.kind}, exact` : reply.kind);
    if (reply.kind === "refused") {
      const { kind: _, id, waitSeconds, ...breach } = reply;
      if (!isDeepStrictEqual({ ...breach, wait: waitSeconds }, expected.refused)) world.fail(`admission ${id} is refused with ${JSON.stringify(reply)}, but ${JSON.stringify(expected)}`);
      return;
    }
    if (reply.target !== expected.target) world.fail(`admission ${reply.id} goes to target ${reply.target}, but ${JSON.stringify(expected)}`);
    const waitsFor = world.nowMs - beganMs < reunionMs ? awaited.find(({ isAlive }) => isAlive()) : undefined;
    if (waitsFor !== undefined) world.fail(`an admission before ${waitsFor.proxyId} could tell its leases`);
    const of = { path: message.userPath, ...message.targets[reply.target]! };
    const request = addRequest({ of, atMs: reply.admittedAtMs, proxyId: seen.proxyId, lease: reply.id, lsn: reply.lsn, unasked: false });
    byLease.set(leaseKey(seen.proxyId, reply.id, reply.lsn), request);
    seen.leases.set(reply.id, { release: truth.hold(of), request });
    if (!exact) return;
    const told = (triple: { limit: number; remaining: number; resetSeconds: number } | null | undefined): unknown => (triple ? [triple.limit, triple.remaining, triple.resetSeconds] : null);
    const headers = { requests: told(reply.headers?.requests), tokens: told(reply.headers?.tokens) };
    if (!isDeepStrictEqual(headers, judge().triples(of, nowMs))) world.fail(`admission ${reply.id} has the headers ${JSON.stringify(headers)}, not ${JSON.stringify(judge().triples(of, nowMs))}`);
  }

  function onHello(seen: SeenPeer, message: Hello, handle: () => void): void {
    seen.proxyId = message.proxyId;
    if (!message.more) awaited = awaited.filter(({ proxyId }) => proxyId !== message.proxyId);
    for (const { lease, lsn, userPath, provider, model } of message.leases) {
      const request = byLease.get(leaseKey(message.proxyId, lease, lsn));
      if (request === undefined) return world.fail(`${message.proxyId} tells a lease ${lease} that it was never granted`);
      world.count("lease told again");
      seen.leases.set(lease, { release: truth.hold({ path: userPath, provider, model }), request });
      if (request.life !== life) tellAgain(request);
    }
    handle();
  }

  function onSettle(seen: SeenPeer, message: Settle, nowMs: number, handle: () => void): void {
    const { proxyId } = seen;
    const { lease, lsn, seq, userPath: path, provider, model, tokens } = message;
    const held = seen.leases.get(lease);
    held?.release();
    seen.leases.delete(lease);
    if (seq <= lastOf(settled, proxyId)) {
      world.count("settle repeated");
      return handle();
    }
    if (seq !== lastOf(settled, proxyId) + 1) world.fail(`settle ${seq} of ${proxyId} follows ${lastOf(settled, proxyId)}`);
    settled.set(proxyId, seq);
    const of = { path, provider, model };
    const unasked = lease === 0 || (held === undefined && lsn === 0);
    const request = unasked
      ? addRequest({ of, atMs: Math.max(0, nowMs - message.startedAgoMs), proxyId, lease, lsn, unasked })
      : (held?.request ?? byLease.get(leaseKey(proxyId, lease, lsn)));
    if (request === undefined) return world.fail(`settle ${seq} of ${proxyId} ends a lease ${lease} that was never granted`);
    if (request.seq !== 0 && request.seq !== seq) world.fail(`lease ${lease} of ${proxyId} is settled twice, by ${request.seq} and ${seq}`);
    request.seq = seq;
    if (request.of.path !== path || request.of.provider !== provider) {
      world.count("request went elsewhere");
      request.elsewhere = of;
    }
    if (request.life !== life) tellAgain(request);
    const charge = { of, tick, atMs: Math.max(0, nowMs - message.endedAgoMs), tokens, proxyId, seq };
    charges.push(charge);
    truth.addTokens(charge);
    handle();
  }

  const witness: Witness = {
    clockStepped: false,
    get charges() { return charges; },
    get doubtful() { return requests.filter(({ certain }) => !certain).length; },
    starting: () => rules.mustBeWhatWasAnswered(),
    started(next, isAlive) {
      state = next;
      life++;
      beganMs = world.nowMs;
      tick++;
      peers = new Map();
      settled = new Map(durable);
      snapshots = { started: 0, startedTick: 0, coveredTick: 0, completeAtMs: null };
      rules.restored(tick);
      awaited = disk.entries("proxies").filter(({ value }) => value[1] === true).map(({ key }) => ({ proxyId: String(key), isAlive: () => isAlive(String(key)) }));
    },
    dead() {
      if (state === null) return;
      state = null;
      const left = survivors(requests, charges, { life, hasSnapshots: snapshots.started > 0, coveredTick: snapshots.coveredTick, durable: (proxyId) => lastOf(durable, proxyId) });
      [requests, charges] = [left.requests, left.charges];
      for (const request of left.gone) byLease.delete(leaseKey(request.proxyId, request.lease, request.lsn));
      truth.startOver(requests, charges);
    },
    snapshotStarts() {
      noteSnapshot(state!);
      snapshots.started++;
      snapshots.startedTick = tick;
    },
    frame(peer, message, nowMs, handle) {
      tick++;
      replies = [];
      const seen = peers.get(peer) ?? { proxyId: "?", leases: new Map<number, Held>() };
      peers.set(peer, seen);
      world.trace(`daemon ← ${seen.proxyId} ${describeMessage(message)}`);
      switch (message.kind) {
        case "admit": return onAdmit(seen, message, nowMs, handle);
        case "settle": return onSettle(seen, message, nowMs, handle);
        case "hello": return onHello(seen, message, handle);
        case "refusal": return handle();
        case "admin": {
          handle();
          return rules.operated(peer, message, { tick, state: state!, answered: replies.some((said) => said.kind === "answer" && said.id === message.id) });
        }
      }
    },
    sent(peer, message) {
      replies.push(message);
      const proxyId = peers.get(peer)?.proxyId ?? "?";
      world.trace(`daemon → ${proxyId} ${describeMessage(message)}`);
      if (message.kind === "answer") rules.answered(peer, message.id);
      const told = message.kind === "settled" ? message.seq : message.kind === "welcome" ? message.settledSeq : null;
      if (told === null) return;
      if (told > lastOf(durable, proxyId)) world.fail(`settle ${told} of ${proxyId} is acknowledged, but the disk knows only ${lastOf(durable, proxyId)}`);
      if (message.kind === "welcome" && told < lastOf(acknowledged, proxyId)) world.fail(`${proxyId} is welcomed with settle ${told}, but ${lastOf(acknowledged, proxyId)} was acknowledged`);
      acknowledged.set(proxyId, Math.max(told, lastOf(acknowledged, proxyId)));
    },
    closed(peer) {
      tick++;
      const seen = peers.get(peer);
      peers.delete(peer);
      world.trace(`daemon lost ${seen?.proxyId ?? "?"} with ${seen?.leases.size ?? 0} leases`);
      for (const { release } of seen?.leases.values() ?? []) release();
    },
    applied(changes) {
      for (const { table, value } of changes) {
        if (table !== "journal") continue;
        for (const [proxyId, seq] of (value ?? []) as [string, number][]) durable.set(proxyId, Math.max(seq, lastOf(durable, proxyId)));
      }
      world.trace(`disk has ${changes.length} changes: ${[...new Set(changes.map(({ table }) => table))].join(" ")}`);
    },
    check(nowMs) {
      if (state === null) return;
      noteSnapshot(state);
      looks++;
      // Only what arrives changes counters; the sweep of idle children is met by the look at every so many events.
      if (lookedTick === tick && looks % 32 !== 0) return;
      lookedTick = tick;
      const found = counterDifference(truth, state.book, { nowMs, clockStepped: witness.clockStepped });
      if (found !== null) world.fail(found);
    },
  };
  return witness;
}
