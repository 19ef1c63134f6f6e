/**
 * Random histories of requests that wait, against an oracle: a daemon in which none waits and each
 * request arrives when the other daemon admits it. It must admit the same, and count the same.
 * Bugs are planted too, and each must be found.
 */
import t from "tap";
import { rollWindow } from "../../../limiterd/counters/window.js";
import { judge } from "../../../limiterd/rules/judge.js";
import type { Waiter, Waiters } from "../../../limiterd/waiting/waiters.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { createRandom } from "../../sim/random.js";
import {
  askFor,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  target,
} from "../in-memory-daemon.js";

const tickMs = 50;
const waiting = { maxMs: 60_000, defaultMs: 0, paths: [] };
const rules = [
  pathRule("/t", 10, { requests: 6 }),
  pathRule("/t", 0, { requests: 3 }),
  pathRule("/t/a", 5, { requests: 2 }),
  pathRule("/t/b", 0, { requests: 1 }),
];
const paths = ["/t", "/t/a", "/t/a/x", "/t/b", "/t/c"];

interface Asked {
  readonly id: number;
  readonly path: string;
  readonly atMs: number;
  readonly deadlineMs: number;
  /** Whether the oracle had room for it at the last look. */
  hadRoom: boolean;
}

interface Running {
  readonly lease: Lease;
  readonly ofOracle: Lease;
  readonly endMs: number;
}

/** The first thing that is wrong in a history; null if nothing is. */
async function play(
  seed: number,
  plant: (daemon: TestDaemon) => void = () => {},
): Promise<string | null> {
  const random = createRandom(seed);
  const daemon = startDaemon(rules, { waiting });
  const oracle = startDaemon(rules);
  plant(daemon);
  const reference = oracle.proxy("reference");
  let peer = daemon.proxy("p1");
  let read = 0;
  let lastId = 1;
  let seq = 0;
  let isDeleted = false;
  const queued = new Map<number, Asked>();
  const running = new Map<number, Running>();
  const problems: string[] = [];

  const send = (asked: Asked): void => {
    const { id, path, atMs, deadlineMs } = asked;
    const wait = {
      askedMs: deadlineMs - atMs,
      timeoutMs: null,
      waitedMs: daemon.nowMs - atMs,
    };
    const question = { credential: "authenticated", targets: [target], submission: false } as const;
    const may = deadlineMs > atMs ? { wait } : {};
    peer.send({ kind: "admit", id, userPath: path, ...question, read: 0, ...may });
  };
  const admitted = (asked: Asked, lease: Lease): void => {
    const { id, path, deadlineMs } = asked;
    if (queued.has(id) && daemon.nowMs > deadlineMs) problems.push(`${id} is admitted too late`);
    queued.delete(id);
    for (const other of queued.values())
      if (other.path === path && other.atMs < asked.atMs)
        problems.push(`${id} has overtaken ${other.id}`);
    const ofOracle = askFor(reference, id, path);
    if (ofOracle === null) problems.push(`${id} is admitted without room`);
    else {
      const endMs = daemon.nowMs + random.int(50, 3000);
      running.set(id, { lease, ofOracle, endMs });
    }
  };
  const known = new Map<number, Asked>();
  const left = new Set<number>();
  const readAnswers = (): void => {
    for (; read < peer.received.length; read++) {
      const message = peer.received[read]!;
      if (!("id" in message)) continue;
      if (left.has(message.id) && message.kind === "admitted")
        problems.push(`${message.id} is admitted although its client has left`);
      const asked = known.get(message.id);
      if (asked === undefined) continue;
      if (message.kind === "queued") queued.set(asked.id, asked);
      else if (message.kind === "cancelled") {
        queued.delete(asked.id);
        known.delete(asked.id);
        left.add(asked.id);
      } else if (message.kind === "admitted") admitted(asked, leaseOf(message, asked.path));
      else if (message.kind === "refused") {
        if (queued.delete(asked.id)) {
          if (daemon.nowMs > asked.deadlineMs + tickMs)
            problems.push(`${asked.id} is refused too late`);
        } else if (daemon.state.waiters.size === 0 && askFor(reference, asked.id, asked.path))
          problems.push(`${asked.id} is refused although there is room`);
      }
    }
  };
  const step = (act: () => void): void => {
    act();
    readAnswers();
  };
  for (let at = 0; at < 400 && problems.length === 0; at++) {
    daemon.nowMs += tickMs;
    oracle.nowMs = daemon.nowMs;
    for (const [id, { lease, ofOracle, endMs }] of running) {
      if (endMs > daemon.nowMs) continue;
      running.delete(id);
      reference.send(settleOf(ofOracle, ++seq, 0));
      step(() => void peer.send(settleOf(lease, seq, 0)));
    }
    if (random.chance(0.4))
      step(() => {
        const id = ++lastId;
        const deadlineMs = daemon.nowMs + (random.chance(0.2) ? 0 : random.int(1, 12) * 1000);
        const path = random.pick(paths);
        const asked = { id, path, atMs: daemon.nowMs, deadlineMs, hadRoom: false };
        known.set(id, asked);
        send(asked);
      });
    const [someone] = queued.keys();
    if (someone !== undefined && random.chance(0.03))
      step(() => void peer.send({ kind: "cancel", id: someone }));
    if (random.chance(0.01)) {
      peer.close();
      read = 0;
      peer = daemon.proxy(
        "p1",
        [...running.values()].map(({ lease }) => lease),
      );
      const again = [...queued.values()];
      queued.clear();
      for (const asked of again) step(() => send(asked));
      readAnswers();
    }
    if (!isDeleted && random.chance(0.005)) {
      isDeleted = true;
      const { scope, subject, periodSeconds } = rules[0]!;
      for (const { state } of [daemon, oracle])
        state.book.delete({ scope, subject, periodSeconds });
      daemon.state.waiters.definitionsChanged();
      step(() => void peer.send({ kind: "refusal", id: 1, requestId: "r", model: "m" }));
    }
    await daemon.commit();
    await oracle.commit();
    readAnswers();
    problems.push(...differences(daemon, oracle));
    for (const asked of queued.values()) {
      const { id, path, deadlineMs, hadRoom } = asked;
      if (daemon.nowMs > deadlineMs + tickMs) problems.push(`${id} waits after its deadline`);
      asked.hadRoom = hasRoom(oracle, path);
      if (hadRoom && asked.hadRoom) problems.push(`${id} waits although there is room`);
    }
  }
  return problems[0] ?? null;
}

function hasRoom({ state, nowMs }: TestDaemon, userPath: string): boolean {
  const request = { userPath, targets: [target], submission: false };
  return judge(state.book, request, { nowMs, tokensEnforced: true }).kind === "admitted";
}

function differences(daemon: TestDaemon, oracle: TestDaemon): string[] {
  const counts = ({ state, nowMs }: TestDaemon, path: string) =>
    state.book.matchPath(path, nowMs).map(({ rule, window, inFlight }) => {
      rollWindow(window, rule.periodMs, nowMs);
      return [rule.id, rule.periodMs === 0 ? 0 : { ...window }, inFlight];
    });
  return paths.flatMap((path) => {
    const [ours, theirs] = [counts(daemon, path), counts(oracle, path)];
    return JSON.stringify(ours) === JSON.stringify(theirs)
      ? []
      : [`${path} counts ${JSON.stringify(ours)}, not ${JSON.stringify(theirs)}`];
  });
}

const seeds = 15;

t.test("the verdicts are those of requests that arrive when they are admitted", async (t) => {
  for (let seed = 1; seed <= seeds; seed++) t.equal(await play(seed), null, `seed ${seed}`);
});

/** Replaces a method of the waiters or of their queues. */
const plants: Readonly<Record<string, (waiters: Waiters, daemon: TestDaemon) => void>> = {
  "a wake-up is lost": ({ queues }) => Object.assign(queues, { wake: () => {} }),
  "new requests overtake": ({ queues }) => Object.assign(queues, { behindMs: () => 0 }),
  "waiting requests count": (waiters, { state }) => {
    const add = waiters.add.bind(waiters);
    waiters.add = (waiter: Waiter, place) => {
      for (const { window } of state.book.matchPath(waiter.userPath, state.wallMs()))
        window.currentRequests++;
      return add(waiter, place);
    };
  },
  "the deadline is ignored": ({ queues }) => Object.assign(queues, { expired: () => [] }),
  "a lost connection keeps its place": (waiters) =>
    Object.assign(waiters, { disconnected: () => {} }),
  "a client that has left is admitted": (waiters) => Object.assign(waiters, { remove: () => {} }),
  "a deleted rule wakes none": ({ queues }) => Object.assign(queues, { wakeAll: () => {} }),
};

for (const [bug, plant] of Object.entries(plants))
  t.test(`a planted bug is found: ${bug}`, async (t) => {
    let found: string | null = null;
    for (let seed = 1; seed <= seeds && found === null; seed++)
      found = await play(seed, (daemon) => plant(daemon.state.waiters, daemon));
    t.not(found, null);
    t.comment(found);
  });
