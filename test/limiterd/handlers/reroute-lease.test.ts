import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Lease, Settle } from "../../../shared/wire/message-to-daemon.js";
import {
  counts,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";

const path = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const pathGauge = pathRule("/team", 0, { requests: 1 });
const ofModel = (
  subject: string,
  caps: { requests?: number; tokens?: number } = { requests: 10, tokens: 1000 },
  periodSeconds = 60,
) => ({ ...pathRule(subject, periodSeconds, caps), scope: "model" as const });
const a = { provider: "p", model: "a" };
const b = { provider: "p", model: "b" };
const c = { provider: "p", model: "c" };
const rules = [
  path,
  pathGauge,
  ofModel("a"),
  ofModel("b"),
  ofModel("c"),
  ofModel("b", { requests: 1 }, 0),
];

/** Admitted to the first target, under the lease 2. */
function admitted(peer: TestPeer, targets: readonly Target[] = [a, b, c], id = 2): Lease {
  peer.send({
    read: 0,
    kind: "admit",
    id,
    userPath: "/team",
    credential: "authenticated",
    targets,
    submission: false,
  });
  const answer = peer.received.at(-1)!;
  if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
  return {
    lease: id,
    userPath: "/team",
    admittedAtMs: answer.admittedAtMs,
    lsn: answer.lsn,
    target: targets[answer.target]!,
    targetAtMs: answer.admittedAtMs,
    targetLsn: answer.lsn,
    submission: false,
  };
}

const attemptOf = (lease: Lease, seq: number): Settle => ({
  ...settleOf(lease, seq, 0),
  part: "attempt",
});

/**
 * The attempt of `lease` fails, with settle `seq`. Returns the lease after its reroute, without a
 * target when none had room.
 */
function rerouted(peer: TestPeer, lease: Lease, targets: readonly Target[], seq = 1): Lease {
  const id = 50 + seq;
  peer.send(attemptOf(lease, seq));
  peer.send({ read: 0, kind: "reroute", id, lease: lease.lease, targets });
  const answer = peer.received.findLast(
    (message) => (message.kind === "admitted" || message.kind === "refused") && message.id === id,
  )!;
  if (answer.kind !== "admitted") return { ...lease, target: null, targetAtMs: 0, targetLsn: 0 };
  return {
    ...lease,
    target: targets[answer.target]!,
    targetAtMs: answer.admittedAtMs,
    targetLsn: answer.lsn,
  };
}

/** Requests and slots of the path's rule and of the models a, b and c: "1+1" is one of each. */
const seen = (daemon: TestDaemon): string =>
  [path, ofModel("a"), ofModel("b"), ofModel("c")]
    .map((rule) => counts(daemon, rule))
    .map(({ requests, inFlight }) => `${requests}+${inFlight}`)
    .join(" ");
const tokensOf = (daemon: TestDaemon): number[] =>
  [path, ofModel("a"), ofModel("b"), ofModel("c")].map((rule) => counts(daemon, rule).tokens);

t.test(
  "a reroute frees the failed target's slot and charges the next one, and leaves the path as it was",
  async (t) => {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const first = admitted(peer);
    t.equal(seen(daemon), "1+1 1+1 0+0 0+0");
    const second = rerouted(peer, first, [b, c]);
    t.equal(seen(daemon), "1+1 1+0 1+1 0+0", "the path's only slot is taken, by this very request");
    t.match(peer.received.at(-1), {
      kind: "admitted",
      target: 0,
      headers: { requests: { limit: 10, remaining: 9 }, tokens: { limit: 1000 } },
    });
    const third = rerouted(peer, second, [c], 2);
    t.equal(seen(daemon), "1+1 1+0 1+0 1+1");
    peer.send(settleOf(third, 3, 30));
    t.equal(seen(daemon), "1+0 1+0 1+0 1+0");
    t.same(tokensOf(daemon), [30, 0, 0, 30], "tokens are the target's that executed it");
    await daemon.commit();
    t.same(peer.received.at(-1), { kind: "settled", seq: 3 });
  },
);

t.test(
  "the reroute alone gives the slot back too, and a target without room is passed over",
  (t) => {
    const daemon = startDaemon(rules);
    const [one, two] = [daemon.proxy("p1"), daemon.proxy("p2")];
    two.send({
      read: 0,
      kind: "admit",
      id: 2,
      userPath: "/other",
      credential: "authenticated",
      targets: [b],
      submission: false,
    });
    const first = admitted(one);
    one.send({ read: 0, kind: "reroute", id: 60, lease: first.lease, targets: [b, c] });
    t.match(one.received.at(-1), { kind: "admitted", id: 60, target: 1 });
    t.equal(seen(daemon), "1+1 1+0 1+1 1+1");
    t.end();
  },
);

t.test(
  "a refused reroute names the shortest wait of its targets; the path's slot is held until the settle",
  (t) => {
    const daemon = startDaemon([...rules, ofModel("c", { requests: 1 }, 3600)]);
    const other = daemon.proxy("p2");
    other.send({
      read: 0,
      kind: "admit",
      id: 2,
      userPath: "/other",
      credential: "authenticated",
      targets: [b],
      submission: false,
    });
    other.send({
      read: 0,
      kind: "admit",
      id: 3,
      userPath: "/other",
      credential: "authenticated",
      targets: [c],
      submission: false,
    });
    const peer = daemon.proxy("p1");
    const left = rerouted(peer, admitted(peer), [b, c]);
    t.match(peer.received.at(-1), {
      kind: "refused",
      scope: "model",
      subject: "b",
      dimension: "concurrent",
      waitSeconds: 1,
    });
    t.same([left.target, seen(daemon)], [null, "1+1 1+0 1+1 1+1"]);
    peer.send(settleOf(left, 2, 0));
    t.equal(seen(daemon), "1+0 1+0 1+1 1+1");
    t.end();
  },
);

t.test("the headers of a reroute are those of the path and the new target", (t) => {
  const daemon = startDaemon([
    pathRule("/team", 60, { requests: 100 }),
    ofModel("a", { requests: 3 }),
    ofModel("b", { requests: 50 }),
  ]);
  const peer = daemon.proxy("p1");
  const first = admitted(peer, [a, b]);
  t.match(peer.received.at(-1), { headers: { requests: { limit: 3, remaining: 2 } } });
  rerouted(peer, first, [b]);
  t.match(peer.received.at(-1), { headers: { requests: { limit: 50, remaining: 49 } } });
  t.end();
});

t.test("the headers of a reroute don't hold what a reset has cleared, nor a deleted rule", (t) => {
  for (const [what, remaining] of [
    ["reset", 4],
    ["deleted", 49],
  ] as const) {
    const daemon = startDaemon([
      pathRule("/team", 60, { requests: 4 }),
      ofModel("a", { requests: 3 }),
      ofModel("b", { requests: 50 }),
    ]);
    const peer = daemon.proxy("p1");
    const first = admitted(peer, [a, b]);
    if (what === "reset") daemon.state.book.resetAll(daemon.state.writer.closeBatch());
    else daemon.state.book.delete(pathRule("/team", 60, {}));
    rerouted(peer, first, [b]);
    t.match(peer.received.at(-1), { kind: "admitted", headers: { requests: { remaining } } }, what);
  }
  t.end();
});

t.test(
  "the headers of a reroute know the rules that were written and deleted since the admission",
  async (t) => {
    const daemon = startDaemon([
      pathRule("/team", 60, { requests: 100 }),
      pathRule("/team", 3600, { requests: 4 }),
    ]);
    const peer = daemon.proxy("p1");
    const lease = admitted(peer);
    t.match(peer.received.at(-1), { headers: { requests: { limit: 4, remaining: 3 } } });
    peer.send({
      kind: "admin",
      id: 90,
      op: "rate-limits.delete",
      body: { scope: "user_path", subject: "/team", limit_key: { period: "hour" } },
    });
    const second = rerouted(peer, lease, [b, c]);
    t.match(peer.received.at(-1), { headers: { requests: { limit: 100, remaining: 99 } } });
    peer.send({
      kind: "admin",
      id: 91,
      op: "rate-limits.put",
      body: { user_path: "/team", limit_key: { period: "day" }, max_requests: 7 },
    });
    const third = rerouted(peer, second, [c], 2);
    t.match(peer.received.at(-1), { headers: { requests: { limit: 7, remaining: 7 } } });
    peer.send(settleOf(third, 3, 30));
    t.same(counts(daemon, pathRule("/team", 60, { requests: 100 })), {
      requests: 1,
      tokens: 30,
      inFlight: 0,
    });
  },
);

t.test("a connection that ends at any moment of a reroute frees every slot, once", (t) => {
  for (const steps of [1, 2, 3]) {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const first = admitted(peer);
    if (steps > 1) peer.send(attemptOf(first, 1));
    if (steps > 2)
      peer.send({ read: 0, kind: "reroute", id: 60, lease: first.lease, targets: [b] });
    peer.close();
    t.equal(seen(daemon).replaceAll(/\d\+0/g, ""), "   ", `${steps}`);
  }
  t.end();
});

t.test(
  "while limits are disabled a reroute goes to the next target; an unknown lease closes the peer",
  (t) => {
    const daemon = startDaemon([]);
    Object.assign(daemon.state.settings, { rateLimitsEnabled: false });
    const peer = daemon.proxy("p1");
    rerouted(peer, admitted(peer), [b, c]);
    t.match(peer.received.at(-1), { kind: "admitted", target: 0, headers: null });
    t.notOk(peer.send({ read: 0, kind: "reroute", id: 70, lease: 99, targets: [b] }), "unknown");
    t.notOk(
      daemon.proxy("p2").send({ read: 0, kind: "reroute", id: 70, lease: 2, targets: [b] }),
      "another peer's",
    );
    t.end();
  },
);

t.test("a repeated attempt isn't counted again, and leaves the next target its slot", async (t) => {
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p1");
  const first = admitted(peer);
  const second = rerouted(peer, first, [b]);
  peer.send(attemptOf(first, 1));
  t.equal(seen(daemon), "1+1 1+0 1+1 0+0");
  peer.close();
  const again = daemon.proxy("p1", [second]);
  again.send(attemptOf(first, 1));
  t.equal(seen(daemon), "1+1 1+0 1+1 0+0");
});

t.test(
  "attempts without an admission are counted at their targets, the request once at its path",
  (t) => {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const unasked = (target: Target): Lease => ({
      lease: 0,
      userPath: "/team",
      admittedAtMs: 0,
      lsn: 0,
      target,
      targetAtMs: 0,
      targetLsn: 0,
      submission: false,
    });
    peer.send(attemptOf(unasked(a), 1));
    t.equal(seen(daemon), "0+0 1+0 0+0 0+0");
    peer.send(settleOf(unasked(b), 2, 5));
    t.equal(seen(daemon), "1+0 1+0 1+0 0+0");
    t.same(tokensOf(daemon), [5, 0, 5, 0]);
    t.end();
  },
);

t.test(
  "a crash at any moment of a failover: each attempt and the request are counted once, whatever was written",
  async (t) => {
    const moments = 6;
    for (let crashAt = 0; crashAt < moments; crashAt++) {
      for (let snapshotAt = -1; snapshotAt <= crashAt; snapshotAt++) {
        for (const commits of [true, false]) {
          let daemon = startDaemon(rules);
          let peer = daemon.proxy("p1");
          let lease: Lease | null = null;
          const settled: Settle[] = [];
          const settle = (what: Settle): void => {
            settled.push(what);
            peer.send(what);
          };
          const ask = (targets: readonly Target[], id: number): void => {
            peer.send({ read: 0, kind: "reroute", id, lease: 2, targets });
            const answer = peer.received.at(-1)!;
            if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
            lease = {
              ...lease!,
              target: targets[0]!,
              targetAtMs: answer.admittedAtMs,
              targetLsn: answer.lsn,
            };
          };
          const fail = (seq: number): void => {
            settle(attemptOf(lease!, seq));
            lease = { ...lease!, target: null, targetAtMs: 0, targetLsn: 0 };
          };
          const steps = [
            () => {
              lease = admitted(peer);
            },
            () => fail(1),
            () => ask([b], 61),
            () => fail(2),
            () => ask([c], 62),
            () => {
              settle(settleOf(lease!, 3, 30));
              lease = null;
            },
          ];
          for (const [at, step] of steps.entries()) {
            step();
            if (commits) await daemon.commit();
            if (at === snapshotAt) await daemon.snapshot();
            if (at !== crashAt) continue;
            daemon = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs });
            peer = daemon.proxy("p1", lease === null ? [] : [lease]);
            // Twice: whoever reconnects a second time isn't counted a second time.
            peer.close();
            peer = daemon.proxy("p1", lease === null ? [] : [lease]);
            const welcome = peer.received.find(({ kind }) => kind === "welcome");
            if (welcome?.kind !== "welcome") throw new Error("not welcomed");
            for (const one of settled.filter(({ seq }) => seq > welcome.settledSeq)) peer.send(one);
          }
          const what = `crash after ${crashAt}, snapshot after ${snapshotAt}, ${commits ? "committed" : "not committed"}`;
          t.same([seen(daemon), tokensOf(daemon)], ["1+0 1+0 1+0 1+0", [30, 0, 0, 30]], what);
          await daemon.commit();
          await daemon.snapshot();
          const last = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs });
          t.same(
            [seen(last), tokensOf(last)],
            ["1+0 1+0 1+0 1+0", [30, 0, 0, 30]],
            `${what}, and a second crash`,
          );
        }
      }
    }
  },
);

t.test(
  "after a crash a target's window is judged by the number of the reroute, the path's by that of the admission",
  async (t) => {
    const daemon = startDaemon(rules);
    const [peer, other] = [daemon.proxy("p1"), daemon.proxy("p2")];
    const first = admitted(peer);
    other.send({
      read: 0,
      kind: "admit",
      id: 2,
      userPath: "/other",
      credential: "authenticated",
      targets: [c],
      submission: false,
    });
    await daemon.snapshot();
    const second = rerouted(peer, first, [c]);
    const next = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs });
    const back = next.proxy("p1", [second]);
    t.equal(
      seen(next),
      "1+1 1+0 0+0 2+1",
      "c's window was written after the admission and before the reroute",
    );
    endReconnectGrace(next.state);
    back.send(attemptOf(first, 1));
    back.send(settleOf(second, 2, 30));
    t.equal(seen(next), "1+0 1+0 0+0 2+0");
  },
);

t.test(
  "a withdrawn admission is counted nowhere, after a crash at any moment either",
  async (t) => {
    for (const [beforeSettle, afterSettle, commits] of [
      [false, false, true],
      [true, false, true],
      [false, true, true],
      [true, true, true],
      [true, false, false],
      [false, false, false],
    ]) {
      const daemon = startDaemon(rules);
      const peer = daemon.proxy("p1");
      const lease = admitted(peer);
      if (beforeSettle) await daemon.snapshot();
      const withdrawal: Settle = { ...settleOf(lease, 1, 0), part: "withdrawn" };
      peer.send(withdrawal);
      t.equal(seen(daemon), "0+0 0+0 0+0 0+0");
      if (commits) await daemon.commit();
      if (afterSettle) await daemon.snapshot();
      const next = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs });
      const back = next.proxy("p1");
      if (!commits) back.send(withdrawal);
      t.equal(
        seen(next),
        "0+0 0+0 0+0 0+0",
        JSON.stringify({ beforeSettle, afterSettle, commits }),
      );
    }
  },
);

t.test(
  "a withdrawal takes nothing from a rule that was reset, or made, after the admission",
  async (t) => {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const lease = admitted(peer);
    peer.send({
      kind: "admin",
      id: 90,
      op: "rate-limits.reset-one",
      body: { scope: "user_path", subject: "/team", period: "minute" },
    });
    peer.send(settleOf({ ...lease, lease: 0, lsn: 0, targetLsn: 0, target: b }, 1, 0));
    t.equal(counts(daemon, path).requests, 1);
    peer.send({ ...settleOf(lease, 2, 0), part: "withdrawn" });
    t.equal(counts(daemon, path).requests, 1);
    t.equal(counts(daemon, ofModel("a")).requests, 0);
  },
);

t.test(
  "a reroute that is refused has freed its target's slot once, whatever follows",
  async (t) => {
    const wide = ofModel("a", { requests: 5 }, 0);
    const daemon = startDaemon([wide, ofModel("b", { requests: 1 }, 0)]);
    const [peer, other] = [daemon.proxy("p1"), daemon.proxy("p2")];
    const first = admitted(peer, [a]);
    admitted(other, [a]);
    admitted(daemon.proxy("p3"), [b]);
    t.notOk(daemon.proxy("p4").send({ read: 0, kind: "reroute", id: 0, lease: 2, targets: [b] }));
    peer.send({ read: 0, kind: "reroute", id: 60, lease: first.lease, targets: [b] });
    t.equal(peer.received.at(-1)?.kind, "refused");
    t.match(peer.state.leases.get(first.lease), { target: null, targetAtMs: 0, targetLsn: 0 });
    t.equal(counts(daemon, wide).inFlight, 1);
    peer.close();
    t.equal(counts(daemon, wide).inFlight, 1, "the other proxy's");
  },
);

t.test("a target to which nothing was sent takes back one request, and no other's", async (t) => {
  const onB = ofModel("b");
  const known = startDaemon(rules);
  const peer = known.proxy("p1");
  peer.send(settleOf(admitted(peer, [b]), 1, 0));
  const lease = rerouted(peer, admitted(peer, [a], 3), [b], 2);
  t.equal(counts(known, onB).requests, 2);
  peer.send({ ...settleOf(lease, 3, 0), part: "untried" });
  t.equal(counts(known, onB).requests, 1, "it says so");
  const withdrawing = startDaemon([onB]);
  const one = withdrawing.proxy("p1");
  const [withdrawn] = [2, 3].map((id) => admitted(one, [b], id));
  one.send({ ...settleOf(withdrawn!, 1, 0), part: "withdrawn" });
  t.equal(counts(withdrawing, onB).requests, 1, "as a withdrawn one does");
});

t.test("the headers of a reroute are of the path's window as it is then", async (t) => {
  const daemon = startDaemon([
    pathRule("/team", 60, { requests: 3 }),
    ofModel("a"),
    ofModel("c", { requests: 50 }),
  ]);
  const peer = daemon.proxy("p1");
  const lease = admitted(peer, [a]);
  daemon.nowMs += 180_000;
  rerouted(peer, lease, [c]);
  t.match(peer.received.at(-1), { headers: { requests: { limit: 3, remaining: 3 } } });
});

t.test("a rule that refuses nothing counts a reroute in the window of its moment", async (t) => {
  for (const onExhausted of ["warn", { use: "cheap" }] as const) {
    const rule = { ...ofModel("b", { requests: 10 }), onExhausted };
    const daemon = startDaemon([rule]);
    const peer = daemon.proxy("p");
    for (const id of [2, 4]) {
      admitted(peer, [a, b], id);
      const uses = ["cheap"];
      const reroute = { lease: id, targets: [b], read: 0, uses };
      peer.send({ kind: "reroute", id: id + 1, ...reroute });
      t.match(peer.received.at(-1), { kind: "admitted", headers: { requests: { remaining: 9 } } });
      daemon.nowMs += 180_000;
    }
    t.equal(counts(daemon, rule).requests, 1, "the first one is long over");
  }
});
