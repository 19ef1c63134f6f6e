import t from "tap";
import { waitMsOf } from "../../../limiterd/waiting/waiters.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { Admitted, Queued } from "../../../shared/wire/message-from-daemon.js";
import type { Wait } from "../../../shared/wire/message-to-daemon.js";
import {
  askFor,
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";
import { admit, call, issue } from "../keys/key-fixture.js";

const waiting = { maxMs: 120_000, defaultMs: 0, paths: [] };

/** Asks for an admission that may wait; the kind of the answer, or "" without one. */
function ask(
  peer: TestPeer,
  id: number,
  userPath: string,
  { credential = "authenticated", ...wait }: Partial<Wait> & { readonly credential?: string } = {
    askedMs: 60_000,
  },
): string {
  const before = peer.received.length;
  const valid = peer.send({
    kind: "admit",
    id,
    userPath,
    credential,
    targets: [target],
    submission: false,
    read: 0,
    wait: { askedMs: null, timeoutMs: null, waitedMs: 0, ...wait },
  });
  if (!valid) return "closed";
  return peer.received
    .slice(before)
    .map(({ kind }) => kind)
    .join();
}

/** The kinds and ids of what arrives while `ms` pass in ticks of 50 ms. */
async function pass(daemon: TestDaemon, peer: TestPeer, ms: number): Promise<string[]> {
  const before = peer.received.length;
  for (let left = ms; left > 0; left -= 50) {
    daemon.nowMs += Math.min(50, left);
    await daemon.commit();
  }
  return peer.received
    .slice(before)
    .filter(({ kind }) => kind !== "settled")
    .map((message) => `${message.kind} ${"id" in message ? message.id : ""}`);
}

t.test("a request waits for a slot, and is admitted when one is free", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 2, "/team")!;
  t.equal(ask(peer, 3, "/team"), "queued");
  t.equal(ask(peer, 4, "/team"), "queued");
  t.equal(ask(peer, 3, "/team"), "closed", "one id, one question");
  t.equal(daemon.state.counts.refused, 0);
  t.same(await pass(daemon, peer, 3000), []);
  peer.send(settleOf(first, 1, 5));
  t.match(peer.received.at(-1), { kind: "admitted", id: 3 });
  t.equal(peer.state.leases.size, 1);
  peer.close();
  t.equal(daemon.state.waiters.size, 0);
});

t.test("a proxy that asks for it gets a request's place, again and again", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 2, "/team")!;
  ask(peer, 3, "/team");
  ask(peer, 4, "/team", { askedMs: 60_000, placeEveryMs: 1000 });
  ask(peer, 5, "/team", { askedMs: 60_000, placeEveryMs: 1000, waitedMs: 2300 });
  t.match(peer.received.at(-1), { position: undefined, expectedMs: undefined });
  t.same(await pass(daemon, peer, 650), []);
  t.same(await pass(daemon, peer, 100), ["queued 5"], "its intervals go on");
  // It has waited longest.
  t.match(peer.received.at(-1), { position: 1, expectedMs: undefined });
  t.same(await pass(daemon, peer, 2000), ["queued 4", "queued 5", "queued 4", "queued 5"]);
  t.match(peer.received.at(-2), { id: 4, position: 3 });
  peer.send(settleOf(first, 1, 5));
  t.match(peer.received.at(-1), { kind: "admitted", id: 5 });
  t.same(await pass(daemon, peer, 2000), ["queued 4", "queued 4"]);
  t.match(peer.received.at(-1), { position: 2 });
  peer.send({ kind: "cancel", id: 4 });
  t.same((await pass(daemon, peer, 2000)).slice(1), []);
  ask(peer, 6, "/team", { askedMs: 60_000, placeEveryMs: 100 });
  peer.close();
  t.same(await pass(daemon, peer, 1000), []);
});

t.test("places of many are told over several ticks, and say the expected wait", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 60 })], { waiting });
  const peer = daemon.proxy("p1");
  for (let id = 2; id < 62; id++) askFor(peer, id, "/team");
  for (let id = 100; id < 350; id++)
    ask(peer, id, `/team/${id}`, { askedMs: 120_000, placeEveryMs: 1000 });
  await pass(daemon, peer, 950);
  const told: string[] = [];
  for (let tick = 0; tick < 4; tick++) told.push(...(await pass(daemon, peer, 50)));
  t.equal(new Set(told).size, 250);
  const { position, expectedMs } = peer.received.findLast(
    ({ kind }) => kind === "queued",
  ) as Queued;
  t.ok(position! >= 1 && position! <= 250);
  t.ok(expectedMs! > 0, `${expectedMs}`);
});

t.test("nothing counts while it waits, and it counts when it is admitted", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 2 })], { waiting });
  const peer = daemon.proxy("p1");
  for (const id of [2, 3]) askFor(peer, id, "/team");
  t.equal(ask(peer, 4, "/team", { askedMs: 120_000 }), "queued");
  const [counter] = daemon.state.book.matchPath("/team", daemon.nowMs);
  t.match(counter, { window: { currentRequests: 2 }, inFlight: 2 });
  const { nowMs } = daemon;
  t.same(await pass(daemon, peer, 91_000), ["admitted 4"]);
  const answer = peer.received.findLast(({ kind }) => kind === "admitted") as {
    readonly admittedAtMs: number;
  };
  // Two requests of the last window count as one after half of a window.
  t.ok(Math.abs(answer.admittedAtMs - nowMs - 60_000) <= 30_050);
  t.match(daemon.state.book.matchPath("/team", daemon.nowMs)[0], {
    window: { currentRequests: 1, previousRequests: 2 },
  });
});

t.test("what time can't admit before the deadline is refused at once", async (t) => {
  const daemon = startDaemon(
    [pathRule("/team", 3600, { requests: 1 }), pathRule("/banned", 60, { requests: 0 })],
    { waiting },
  );
  const peer = daemon.proxy("p1");
  askFor(peer, 2, "/team");
  t.equal(ask(peer, 3, "/team"), "refused");
  t.match(peer.received.at(-1), { dimension: "requests" });
  t.equal(ask(peer, 4, "/banned"), "refused");
  t.equal(daemon.state.counts.refused, 2);
});

t.test("at its deadline it is refused, with the wait of that moment", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 2, "/team")!;
  t.equal(ask(peer, 3, "/team", { askedMs: 2000 }), "queued");
  t.same(await pass(daemon, peer, 1950), []);
  t.same(await pass(daemon, peer, 50), ["refused 3"]);
  t.match(peer.received.at(-1), { dimension: "concurrent", waitSeconds: 1, cap: 1 });
  t.equal(daemon.state.counts.refused, 1);
  t.equal(ask(peer, 4, "/team", { askedMs: 2000 }), "queued");
  daemon.nowMs += 2000;
  // The slot and the deadline at the same moment: it isn't admitted.
  peer.send(settleOf(first, 1, 5));
  t.match(peer.received.at(-1), { kind: "refused", id: 4, waitSeconds: 1 });
});

t.test("nobody overtakes: a new request waits too, or is refused", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 2 })], { waiting });
  const peer = daemon.proxy("p1");
  const [first] = [askFor(peer, 2, "/team")!, askFor(peer, 3, "/team")];
  t.equal(ask(peer, 4, "/team"), "queued");
  peer.state.leases.get(3);
  daemon.state.book.matchPath("/team", daemon.nowMs)[0]!.inFlight = 1;
  t.equal(askFor(peer, 5, "/team"), null, "there is room, but for the one that waits");
  t.match(peer.received.at(-1), { kind: "refused", dimension: "concurrent", cap: 2 });
  t.equal(ask(peer, 6, "/team"), "queued");
  t.ok(first);
  t.same(await pass(daemon, peer, 1000), ["admitted 4"]);
});

t.test("a cancel ends the wait; one that crosses the verdict changes nothing", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 2, "/team")!;
  ask(peer, 3, "/team");
  ask(peer, 4, "/team");
  t.ok(peer.send({ kind: "cancel", id: 3 }));
  t.match(peer.received.at(-1), { kind: "cancelled", id: 3 });
  peer.send(settleOf(first, 1, 5));
  t.match(peer.received.at(-1), { kind: "admitted", id: 4 });
  const { length } = peer.received;
  t.ok(peer.send({ kind: "cancel", id: 4 }));
  t.equal(peer.received.length, length);
  t.notOk(daemon.connect().send({ kind: "cancel", id: 4 }), "before a hello");
});

t.test("after a reconnect it keeps its arrival and its deadline", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const holder = daemon.proxy("holder");
  const first = askFor(holder, 2, "/team")!;
  const old = daemon.proxy("p1");
  ask(old, 5, "/team", { askedMs: 10_000 });
  daemon.nowMs += 4000;
  const other = daemon.proxy("p2");
  ask(other, 7, "/team", { askedMs: 10_000 });
  old.close();
  t.equal(daemon.state.waiters.size, 1);
  const again = daemon.proxy("p1");
  t.equal(ask(again, 5, "/team", { askedMs: 10_000, waitedMs: 4000 }), "queued");
  holder.send(settleOf(first, 1, 5));
  t.match(again.received.at(-1), { kind: "admitted", id: 5 }, "it came first");
  t.same(await pass(daemon, other, 9950), []);
  t.same(await pass(daemon, other, 50), ["refused 7"]);
  t.equal(ask(again, 8, "/team", { askedMs: 3000, waitedMs: 3000 }), "refused");
});

t.test("a connection that its proxy has left gets no room, even if it isn't closed", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const holder = daemon.proxy("holder");
  const first = askFor(holder, 2, "/team")!;
  const old = daemon.proxy("p1");
  ask(old, 5, "/team");
  const again = daemon.proxy("p1");
  ask(again, 5, "/team");
  holder.send(settleOf(first, 1, 5));
  t.equal(old.received.at(-1)?.kind, "queued");
  t.match(again.received.at(-1), { kind: "admitted", id: 5 });
  t.equal(daemon.state.waiters.size, 0);
});

t.test("whoever's key ends meanwhile is denied at once, and not at its turn", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })], { waiting });
  const admin = daemon.proxy("admin");
  const peer = daemon.proxy("p1");
  const { nowMs } = daemon;
  const expiring = { expires_at: new Date(nowMs + 10_000).toISOString() };
  const issued = [];
  for (const key of [{}, {}, {}, expiring, {}]) issued.push(await issue(daemon, admin, key));
  const [holder, deleted, ended, , kept] = issued;
  t.match(admit(peer, 2, holder!.hash, "/team"), { kind: "admitted" });
  const first = leaseOf(peer.received.at(-1) as Admitted, "/team");
  for (const [i, key] of issued.slice(1).entries())
    t.equal(ask(peer, 3 + i, "/team", { askedMs: 120_000, credential: key.hash }), "queued");
  const { length } = peer.received;
  await call(daemon, admin, "keys.delete", { id: deleted!.id });
  await pass(daemon, peer, 50);
  await call(daemon, admin, "keys.deactivate", { id: ended!.id });
  await pass(daemon, peer, 50);
  t.same(
    peer.received.slice(length).filter(({ kind }) => kind === "denied"),
    [
      { kind: "denied", id: 3, ended: null },
      { kind: "denied", id: 4, ended: { keyId: ended!.id, expiredAtMs: null } },
    ],
  );
  t.equal(daemon.nowMs, nowMs + 100);
  t.same(await pass(daemon, peer, 9000), []);
  t.same(await pass(daemon, peer, 2000), ["denied 5"]);
  t.equal(daemon.state.counts.denied, 3);
  peer.send(settleOf(first, 1, 5));
  t.match(peer.received.at(-1), { kind: "admitted", id: 6, key: { keyId: kept!.id } });
});

t.test("each change of a limit admits those that it has room for", async (t) => {
  const rule = { scope: "user_path", subject: "/team", limit_key: { period: "hour" } };
  const budget = { scope: "user_path", subject: "/paid", budget_key: { period: "hourly" } };
  const raise = { for_seconds: 600, reason: "more", by: "ann" };
  const changes = [
    ["/team", "rate-limits.raise", { ...rule, max_requests: 2, ...raise }],
    ["/team", "rate-limits.put", { ...rule, max_requests: 2 }],
    ["/team", "rate-limits.reset-one", { scope: "user_path", subject: "/team", period: "hour" }],
    ["/team", "rate-limits.delete", rule],
    ["/paid", "budgets.raise", { ...budget, amount: 1000, ...raise }],
    ["/paid", "budgets.put", { ...budget, amount: 1000 }],
    ["/paid", "budgets.reset-one", budget],
    ["/paid", "budgets.delete", budget],
  ] as const;
  for (const [path, op, body] of changes) {
    const daemon = startDaemon([pathRule("/team", 3600, { requests: 1 })], {
      waiting: { ...waiting, maxMs: 7_200_000 },
      budgets: [
        {
          ...({ scope: "user_path", subject: "/paid", periodSeconds: 3600 } as const),
          ...{ amountUsd: 0.001, perChild: false },
        },
      ],
    });
    const admin = daemon.proxy("admin");
    const peer = daemon.proxy("p1");
    const lease = askFor(peer, 2, path)!;
    peer.send({ ...settleOf(lease, 1, 30), record: executed({ totalCost: 1e12 }) });
    t.equal(ask(peer, 3, path, { askedMs: 7_200_000 }), "queued", op);
    t.match(await call(daemon, admin, op, body), { kind: "answer" }, op);
    t.same(await pass(daemon, peer, 0), []);
    await pass(daemon, peer, 50);
    t.match(
      peer.received.findLast(({ kind }) => kind === "admitted"),
      { id: 3 },
      op,
    );
  }
});

t.test("a budget is waited for if its period ends in time", async (t) => {
  const budget: BudgetDefinition = {
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    amountUsd: 0.001,
    perChild: false,
  };
  const nowMs = Date.UTC(2026, 0, 1, 12, 0, 30);
  const daemon = startDaemon([], { waiting, budgets: [budget], nowMs });
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  peer.send({ ...settleOf(lease, 1, 30), record: executed({ inputTokens: 500_000_000 }) });
  t.equal(ask(peer, 3, "/team", { askedMs: 20_000 }), "exceeded");
  t.equal(ask(peer, 4, "/team", { askedMs: 40_000 }), "queued");
  t.same(await pass(daemon, peer, 29_900), []);
  t.same(await pass(daemon, peer, 200), ["admitted 4"]);
});

t.test("classes take turns, also those of new children of the path", async (t) => {
  const daemon = startDaemon([pathRule("/org", 0, { requests: 1 })], { waiting });
  const peer = daemon.proxy("p1");
  let lease = askFor(peer, 2, "/org")!;
  for (const [at, path] of ["/org/a", "/org/a/x", "/org/a", "/org/b", "/org"].entries())
    ask(peer, 10 + at, path);
  const order: number[] = [];
  for (let seq = 1; seq <= 5; seq++) {
    peer.send(settleOf(lease, seq, 5));
    const answer = peer.received.at(-1)!;
    if (answer.kind !== "admitted") throw new Error(answer.kind);
    order.push(answer.id);
    lease = leaseOf(answer, peer.state.leases.get(answer.id)!.userPath);
  }
  t.same(order, [10, 13, 14, 11, 12]);
});

t.test("how long a request may wait", async (t) => {
  const limits = {
    maxMs: 30,
    defaultMs: 5,
    paths: [
      { path: "/a", maxMs: 60, defaultMs: 0 },
      { path: "/a/b", maxMs: 10, defaultMs: 7 },
    ],
  };
  const ms = (path: string, askedMs: number | null, timeoutMs: number | null = null): number =>
    waitMsOf(limits, path, { askedMs, timeoutMs, waitedMs: 0 });
  t.same(
    [ms("/", 99), ms("/", null), ms("/a", 99), ms("/a/c", null), ms("/a/b/c", null)],
    [30, 5, 60, 0, 7],
  );
  t.same([ms("/ab", 99), ms("/a/b", 99, 3), ms("/", 0)], [30, 3, 0]);
});

t.test("without the setting nobody waits", async (t) => {
  const daemon = startDaemon([pathRule("/team", 0, { requests: 1 })]);
  const peer = daemon.proxy("p1");
  askFor(peer, 2, "/team");
  t.equal(ask(peer, 3, "/team"), "refused");
  t.equal(daemon.state.waiters.size, 0);
});

t.test(
  "weights decide among requests that don't wait, also if those of other paths do",
  async (t) => {
    const childShares = { children: { heavy: { weight: 3 } } };
    const rule = { ...pathRule("/team", 60, { requests: 100 }), childShares };
    const paths = [{ path: "/batch", maxMs: 60_000, defaultMs: 60_000 }];
    const daemon = startDaemon([rule], { waiting: { maxMs: 0, defaultMs: 0, paths } });
    const peer = daemon.proxy("p1");
    let lastId = 1;
    const admitted = { heavy: 0, light: 0 };
    for (let second = 0; second < 600; second++) {
      daemon.nowMs += 1000;
      // The proxy doesn't know whose path the default is for.
      for (const name of ["light", "light", "light", "heavy", "heavy", "heavy"] as const)
        if (ask(peer, ++lastId, `/team/${name}`, {}) === "admitted" && second >= 300)
          admitted[name]++;
    }
    const ratio = admitted.heavy / admitted.light;
    t.ok(ratio > 2.7 && ratio < 3.3, `${admitted.heavy} and ${admitted.light}`);
  },
);
