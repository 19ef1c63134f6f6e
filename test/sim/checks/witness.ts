/**
 * Stands beside the daemon: sees every frame before and after it is handled, all that is said and
 * all that reaches the disk, and holds it against the truth. What was certain and what becomes
 * doubtful at a crash is decided in `crash-toll.ts`.
 */
import type { PeerState } from "../../../limiterd/peer.js";
import type { DaemonState } from "../../../limiterd/state.js";
import type { Change } from "../../../limiterd/store/store.js";
import { reconnectGraceMs } from "../../../shared/bounds.js";
import type {
  Admit,
  Admitted,
  FromDaemon,
  Hello,
  Refused,
  Reroute,
  Settle,
  ToDaemon,
} from "../../../shared/wire/message.js";
import { describeMessage } from "../describe-message.js";
import type { Disk } from "../processes/disk.js";
import type { World } from "../world.js";
import { counterDifference } from "./compare-counters.js";
import type { WitnessedCharge } from "./crash-toll.js";
import { createExpectation } from "./expect-verdict.js";
import { createLeaseAccount, type HeldLeases, type Moment } from "./lease-account.js";
import { createRuleHistory } from "./rule-history.js";
import { createTruth } from "./truth.js";

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

interface SeenPeer {
  proxyId: string;
  readonly leases: HeldLeases;
}

export function createWitness(world: World, disk: Disk): Witness {
  const truth = createTruth();
  const rules = createRuleHistory(world, disk, truth);
  const account = createLeaseAccount(world, truth);
  const expect = createExpectation(truth);
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
  let rulesSinceMs = Number.POSITIVE_INFINITY;
  let snapshots = {
    started: 0,
    startedTick: 0,
    coveredTick: 0,
    completeAtMs: null as number | null,
  };
  let expectedProxies: { readonly proxyId: string; readonly isAlive: () => boolean }[] = [];
  let replies: FromDaemon[] = [];

  const lastOf = (map: ReadonlyMap<string, number>, proxyId: string): number =>
    map.get(proxyId) ?? 0;
  const moment = (nowMs: number): Moment => ({
    tick,
    life,
    nowMs,
    late: snapshots.started > 0,
    rulesSinceMs,
  });

  /** What a snapshot covers counts from its end on; the next may begin in the same event. */
  function noteSnapshot({ lastSnapshotAtMs }: DaemonState): void {
    if (lastSnapshotAtMs === snapshots.completeAtMs) return;
    snapshots.completeAtMs = lastSnapshotAtMs;
    snapshots.coveredTick = snapshots.startedTick;
  }

  /**
   * Lets the daemon answer and holds the answer against what must be; `count` counts an admission.
   */
  function mustAnswer(
    asked: {
      readonly what: string;
      readonly id: number;
      readonly path: string | null;
      readonly targets: Admit["targets"];
      readonly submission: boolean;
    },
    nowMs: number,
    handle: () => void,
    count: (answer: Admitted) => string,
  ): void {
    const expected = expect(state!.book, { ...asked, nowMs, clockStepped: witness.clockStepped });
    handle();
    const answer = replies.find(
      (said): said is Admitted | Refused =>
        (said.kind === "admitted" || said.kind === "refused") && said.id === asked.id,
    );
    if (answer === undefined) return world.fail(`${asked.what} isn't answered at once`);
    const kind =
      asked.path === null
        ? `reroute ${answer.kind}`
        : asked.submission
          ? `submission ${answer.kind}`
          : answer.kind;
    world.count(expected.exact ? `${kind}, exact` : kind);
    const wrong = expected.verdict(answer);
    if (wrong !== null) return world.fail(`${asked.what} ${wrong}`);
    if (answer.kind === "refused") return;
    const path = count(answer);
    const wrongHeaders = expected.exact ? expected.headers(answer, path) : null;
    if (wrongHeaders !== null) world.fail(`${asked.what} ${wrongHeaders}`);
  }

  function onAdmit(
    { proxyId, leases }: SeenPeer,
    message: Admit,
    nowMs: number,
    handle: () => void,
  ): void {
    mustAnswer(
      {
        what: `admission ${message.id} of ${proxyId}`,
        id: message.id,
        path: message.userPath,
        targets: message.targets,
        submission: message.submission,
      },
      nowMs,
      handle,
      (answer) => {
        const waitsFor =
          world.nowMs - beganMs < reconnectGraceMs
            ? expectedProxies.find(({ isAlive }) => isAlive())
            : undefined;
        if (waitsFor !== undefined)
          world.fail(`an admission before ${waitsFor.proxyId} could tell its leases`);
        account.admitted(proxyId, leases, message, answer, moment(nowMs));
        return message.userPath;
      },
    );
  }

  function onReroute(
    { proxyId, leases }: SeenPeer,
    message: Reroute,
    nowMs: number,
    handle: () => void,
  ): void {
    const held = leases.get(message.lease);
    if (held === undefined)
      return world.fail(
        `${proxyId} reroutes the lease ${message.lease}, which the daemon doesn't hold`,
      );
    if (held.target !== null) world.count("reroute from a target that was never tried");
    account.leaveTarget(held);
    mustAnswer(
      {
        what: `reroute ${message.id} of ${proxyId}`,
        id: message.id,
        path: null,
        targets: message.targets,
        submission: false,
      },
      nowMs,
      handle,
      (answer) => {
        account.rerouted(proxyId, leases, message, answer, moment(nowMs));
        return held.path;
      },
    );
  }

  function onHello(seen: SeenPeer, message: Hello, nowMs: number, handle: () => void): void {
    seen.proxyId = message.proxyId;
    if (!message.more)
      expectedProxies = expectedProxies.filter(({ proxyId }) => proxyId !== message.proxyId);
    for (const lease of message.leases)
      account.told(message.proxyId, seen.leases, lease, moment(nowMs));
    handle();
  }

  function onSettle(
    { proxyId, leases }: SeenPeer,
    message: Settle,
    nowMs: number,
    handle: () => void,
  ): void {
    const { seq } = message;
    if (seq <= lastOf(settled, proxyId)) {
      world.count("settle repeated");
      account.repeated(leases, message);
      return handle();
    }
    if (seq !== lastOf(settled, proxyId) + 1)
      world.fail(`settle ${seq} of ${proxyId} follows ${lastOf(settled, proxyId)}`);
    settled.set(proxyId, seq);
    account.settled(proxyId, leases, message, moment(nowMs));
    handle();
  }

  const witness: Witness = {
    clockStepped: false,
    get charges() {
      return account.charges;
    },
    get doubtful() {
      return account.doubtful;
    },
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
      rulesSinceMs = rules.oldestMs();
      expectedProxies = disk
        .entries("proxies")
        .filter(({ value }) => value[1] === true)
        .map(({ key }) => ({ proxyId: String(key), isAlive: () => isAlive(String(key)) }));
    },
    dead() {
      if (state === null) return;
      state = null;
      account.died({
        life,
        hasSnapshots: snapshots.started > 0,
        coveredTick: snapshots.coveredTick,
        durable: (proxyId) => lastOf(durable, proxyId),
      });
    },
    snapshotStarts() {
      noteSnapshot(state!);
      snapshots.started++;
      snapshots.startedTick = tick;
    },
    frame(peer, message, nowMs, handle) {
      tick++;
      replies = [];
      const seen = peers.get(peer) ?? { proxyId: "?", leases: new Map() };
      peers.set(peer, seen);
      world.trace(`daemon ← ${seen.proxyId} ${describeMessage(message)}`);
      switch (message.kind) {
        case "admit":
          return onAdmit(seen, message, nowMs, handle);
        case "reroute":
          return onReroute(seen, message, nowMs, handle);
        case "settle":
          return onSettle(seen, message, nowMs, handle);
        case "hello":
          return onHello(seen, message, nowMs, handle);
        case "refusal":
          return handle();
        case "admin": {
          const before = new Set(truth.generations.keys());
          handle();
          rules.operated(peer, message, {
            tick,
            state: state!,
            answered: replies.some((said) => said.kind === "answer" && said.id === message.id),
          });
          if ([...truth.generations.keys()].some((id) => !before.has(id)))
            rulesSinceMs = before.size === 0 ? nowMs : Math.min(rulesSinceMs, nowMs);
          return;
        }
      }
    },
    sent(peer, message) {
      replies.push(message);
      const proxyId = peers.get(peer)?.proxyId ?? "?";
      world.trace(`daemon → ${proxyId} ${describeMessage(message)}`);
      if (message.kind === "answer") rules.answered(peer, message.id);
      const told =
        message.kind === "settled"
          ? message.seq
          : message.kind === "welcome"
            ? message.settledSeq
            : null;
      if (told === null) return;
      if (told > lastOf(durable, proxyId))
        world.fail(
          `settle ${told} of ${proxyId} is acknowledged, but the disk knows only ${lastOf(durable, proxyId)}`,
        );
      if (message.kind === "welcome" && told < lastOf(acknowledged, proxyId))
        world.fail(
          `${proxyId} is welcomed with settle ${told}, but ${lastOf(acknowledged, proxyId)} was acknowledged`,
        );
      acknowledged.set(proxyId, Math.max(told, lastOf(acknowledged, proxyId)));
    },
    closed(peer) {
      tick++;
      const seen = peers.get(peer);
      peers.delete(peer);
      world.trace(`daemon lost ${seen?.proxyId ?? "?"} with ${seen?.leases.size ?? 0} leases`);
      if (seen !== undefined) account.closed(seen.leases);
    },
    applied(changes) {
      for (const { table, value } of changes) {
        if (table !== "journal") continue;
        for (const [proxyId, seq] of (value ?? []) as [string, number][])
          durable.set(proxyId, Math.max(seq, lastOf(durable, proxyId)));
      }
      world.trace(
        `disk has ${changes.length} changes: ${[...new Set(changes.map(({ table }) => table))].join(" ")}`,
      );
    },
    check(nowMs) {
      if (state === null) return;
      noteSnapshot(state);
      looks++;
      // Only what arrives changes counters; the sweep of idle children is met by the look at every
      // so many events.
      if (lookedTick === tick && looks % 32 !== 0) return;
      lookedTick = tick;
      const found = counterDifference(truth, state.book, {
        nowMs,
        clockStepped: witness.clockStepped,
      });
      if (found !== null) world.fail(found);
    },
  };
  return witness;
}
