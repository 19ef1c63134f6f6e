import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { leasesPerPeerMax } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import { exactly } from "../../support/patterns/exactly.js";
import { askFor, counts, pathRule, settleOf, startDaemon } from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 2 });

t.test("a reconnected proxy holds its slots again, without counting the requests again", (t) => {
  const daemon = startDaemon([minute, gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  peer.close();
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 0 });
  daemon.proxy("p1", [lease]);
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 1 });
  t.end();
});

t.test(
  "a crash loses no settle that was acknowledged, and no request that its proxy still holds",
  async (t) => {
    const daemon = startDaemon([minute, gauge]);
    const peer = daemon.proxy("p1");
    askFor(peer, 2, "/team");
    await daemon.snapshot();
    const settled = askFor(peer, 3, "/team")!;
    peer.send(settleOf(settled, 1, 40));
    await daemon.commit();
    const held = askFor(peer, 4, "/team")!;
    const unsettled = settleOf(held, 2, 7);

    const next = startDaemon([minute, gauge], {
      store: daemon.store.crash(),
      nowMs: daemon.nowMs + 300,
    });
    t.same(
      counts(next, minute),
      { requests: 2, tokens: 40, inFlight: 0 },
      "one from the snapshot, one from the journal",
    );
    const back = next.proxy("p1", [held]);
    t.match(back.received[0], { kind: "welcome", settledSeq: 1 });
    t.same(
      counts(next, minute),
      { requests: 3, tokens: 40, inFlight: 1 },
      "the held one is held and counted again",
    );
    back.send(unsettled);
    t.same(counts(next, minute), { requests: 3, tokens: 47, inFlight: 0 });

    await next.snapshot();
    const last = startDaemon([minute, gauge], { store: next.store.crash(), nowMs: next.nowMs });
    t.same(
      counts(last, minute),
      { requests: 3, tokens: 47, inFlight: 0 },
      "and a second crash changes nothing",
    );
  },
);

t.test("the leases of a connection that a later one has replaced aren't held again", (t) => {
  const daemon = startDaemon([minute, gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  peer.close();
  const [early, late] = [daemon.connect(), daemon.connect()];
  const hello = { kind: "hello", wireVersion, role: "proxy", proxyId: "p1", more: false } as const;
  t.ok(late.send({ ...hello, id: 9, leases: [] }));
  t.ok(early.send({ ...hello, id: 5, leases: [lease] }));
  t.equal(counts(daemon, minute).inFlight, 0);
  t.ok(daemon.connect().send({ ...hello, id: 12, leases: [lease] }), "the latest one's are");
  t.equal(counts(daemon, minute).inFlight, 1);
  t.end();
});

t.test("a connection for settles alone is left for no earlier one either", (t) => {
  const daemon = startDaemon([gauge]);
  const lease = askFor(daemon.proxy("p1"), 2, "/team")!;
  const [early, late] = [daemon.connect(), daemon.connect()];
  t.ok(late.send({ ...hello, id: 9, wireVersion: 5000, proxyId: "p1" }));
  t.equal(counts(daemon, gauge).inFlight, 0, "it has left the one that held the slot");
  t.ok(early.send({ ...hello, id: 5, wireVersion, proxyId: "p1", leases: [lease] }));
  t.equal(counts(daemon, gauge).inFlight, 0);
  t.end();
});

t.test("the leases of an epoch that wrote nothing are counted again in the next one", async (t) => {
  const first = startDaemon([minute]);
  await first.snapshot();
  const second = startDaemon([minute], { store: first.store.crash() });
  const lease = askFor(second.proxy("p1"), 2, "/team")!;
  const third = startDaemon([minute], { store: second.store.crash() });
  t.ok(third.state.epochs.startLsn > second.state.epochs.startLsn);
  third.proxy("p1", [lease]);
  endReconnectGrace(third.state);
  t.same(counts(third, minute), { requests: 1, tokens: 0, inFlight: 1 });
});

const hello = { kind: "hello", id: 1, role: "proxy", leases: [], more: false } as const;

t.test(
  "a proxy of an unsupported version gets an error, and its settles are still accepted",
  async (t) => {
    const versions = { oldest: 20, newest: 21 };
    const daemon = startDaemon([minute, gauge], { versions });
    const speaks = (wireVersion: number, proxyId: string, more = false) => {
      const peer = daemon.connect();
      const kept = peer.send({ ...hello, wireVersion, proxyId, more });
      return { peer, kept };
    };
    const lease = askFor(speaks(20, "p1").peer, 2, "/team")!;
    for (const [wireVersion, proxyId] of [
      [19, "before"],
      [22, "after"],
      [5000, "long-after"],
    ] as const) {
      const { peer, kept } = speaks(wireVersion, proxyId, true);
      t.ok(kept);
      t.match(
        peer.received,
        exactly([
          {
            kind: "failed",
            id: 1,
            failure: {
              message: `the daemon speaks wire versions 20 to 21, this peer ${wireVersion}`,
            },
          },
        ]),
      );
      t.ok(peer.send({ ...hello, id: 2, wireVersion, proxyId }), "a hello with further leases");
      t.ok(peer.send(settleOf({ ...lease, lease: 77 }, 1, 10)));
      t.ok(peer.send(settleOf({ ...lease, lease: 77 }, 1, 10)), "a repeated one");
      await daemon.commit();
      t.match(peer.received.at(-1), { kind: "settled", seq: 1 });
      t.notOk(peer.send({ ...hello, wireVersion: 20, proxyId }), "but it is no proxy like others");
      t.notOk(askFor(peer, 3, "/team"));
    }
    t.match(counts(daemon, minute), { tokens: 30, inFlight: 1 });
    t.same(daemon.foreignVersions, ["proxy 19", "proxy 22", "proxy 5000"]);
  },
);

t.test("a command line of another version gets an error, and its connection is closed", (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.connect();
  t.notOk(peer.send({ ...hello, role: "cli", wireVersion: 500, proxyId: "cli-1" }));
  t.match(
    peer.received,
    exactly([{ kind: "failed", failure: { message: /wire versions? \d+(?: to \d+)?, this/ } }]),
  );
  t.same(daemon.foreignVersions, ["cli 500"]);
  t.end();
});

t.test(
  "a restarted daemon waits for a proxy that comes back with another version first",
  async (t) => {
    const first = startDaemon([gauge]);
    const lease = askFor(first.proxy("p1"), 2, "/team")!;
    first.proxy("p2");
    await first.commit();
    const next = startDaemon([gauge], { store: first.store.crash(), nowMs: first.nowMs });
    const foreign = next.connect();
    foreign.send({ ...hello, wireVersion: 500, proxyId: "p1" });
    const other = next.proxy("p2");
    t.same(other.received, [], "its slots aren't held yet");
    foreign.close();
    next.proxy("p1", [lease]);
    t.match(other.received, exactly([{ kind: "welcome" }]));
    t.same(counts(next, gauge).inFlight, 1);
  },
);

t.test("a proxy with as many leases as it may hold moves them, and tells of no others", (t) => {
  const daemon = startDaemon([gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  const held = peer.state.leases.get(2)!;
  for (let id = 3; peer.state.leases.size < leasesPerPeerMax - 1; id++)
    peer.state.leases.set(id, { ...held, counters: [] });
  const moved = { ...lease, target: { provider: "azure", model: "gpt-4o" } };
  const another = { ...lease, lease: leasesPerPeerMax + 10 };
  t.ok(peer.send({ kind: "hold", leases: [moved, another, another] }));
  t.equal(peer.state.leases.size, leasesPerPeerMax);
  t.same(peer.state.leases.get(2)?.target, moved.target);
  t.equal(counts(daemon, gauge).inFlight, 2);
  t.ok(peer.send({ kind: "hold", leases: [lease] }));
  t.notOk(peer.send({ kind: "hold", leases: [lease, { ...another, lease: another.lease + 1 }] }));
  t.end();
});

t.test("hellos that belong together name one proxy, and no more leases than it may hold", (t) => {
  const parts = (second: object, held = 0): readonly [boolean, number] => {
    const daemon = startDaemon([]);
    const peer = daemon.connect();
    t.ok(peer.send({ ...hello, wireVersion, proxyId: "p", more: true }));
    t.same(peer.received, [], "more hellos follow");
    for (let id = 1; id <= held; id++) peer.state.leases.set(id, {} as never);
    const lease = {
      ...{ lease: leasesPerPeerMax + 1, userPath: "/", admittedAtMs: 0, lsn: 0, target: null },
      ...{ targetAtMs: 0, targetLsn: 0, submission: false },
    };
    const kept = peer.send({
      ...{ ...hello, id: 2, wireVersion, proxyId: "p", leases: [lease] },
      ...second,
    });
    return [kept, peer.received.length];
  };
  t.same(parts({}), [true, 1]);
  t.same(parts({ proxyId: "q" }), [false, 0]);
  t.same(parts({}, leasesPerPeerMax - 1), [true, 1]);
  t.same(parts({}, leasesPerPeerMax), [false, 0]);
  t.same(parts({ wireVersion: 5000 }), [false, 0], "not of another version either");
  const cli = startDaemon([]).connect();
  cli.send({ ...hello, role: "cli", wireVersion, proxyId: "c" });
  t.notOk(cli.send({ ...hello, wireVersion: 5000, proxyId: "c" }));
  t.end();
});

t.test("what a proxy says on a connection that it has left holds no slots", (t) => {
  const daemon = startDaemon([gauge]);
  const left = daemon.proxy("p1");
  const lease = askFor(left, 2, "/team")!;
  daemon.nowMs += 5000;
  const now = daemon.connect();
  now.send({ ...hello, id: 2, wireVersion, proxyId: "p1" });
  t.match(now.state.proxy, { seenAtMs: daemon.nowMs });
  t.equal(counts(daemon, gauge).inFlight, 0);
  t.ok(left.send({ kind: "hold", leases: [lease] }));
  t.equal(counts(daemon, gauge).inFlight, 0);
  t.ok(now.send({ kind: "hold", leases: [lease] }));
  t.equal(counts(daemon, gauge).inFlight, 1);
  t.end();
});

t.test("a proxy's welcome has the daemon's problems, a command line's hasn't", async (t) => {
  for (const role of ["proxy", "cli"] as const) {
    const daemon = startDaemon([pathRule("/team", 60, { requests: 1 })]);
    Object.assign(daemon.state, {
      storeFailing: "the disk is full",
      clusterFailing: "the engine is away",
      lastBackup: { ...daemon.state.lastBackup, atMs: 7 },
    });
    const peer = daemon.connect();
    peer.send({ kind: "hello", id: 4, wireVersion, role, proxyId: "p", leases: [], more: false });
    t.strictSame(peer.received, [
      {
        kind: "welcome",
        id: 4,
        daemonVersion: "test",
        settledSeq: 0,
        limited: true,
        inertRules: 0,
        inertBudgets: 0,
        keysExist: false,
        deniedJwts: 0,
        importedKeysExist: undefined,
        hardLimits: undefined,
        loopTimes: undefined,
        sessionBudgets: undefined,
      },
      ...(role === "cli"
        ? []
        : [
            { kind: "event", name: "store_failing", value: "the disk is full" },
            { kind: "event", name: "cluster_failing", value: "the engine is away" },
            { kind: "event", name: "last_backup", value: 7 },
          ]),
    ]);
  }
});

t.test(
  "a daemon that starts after a crash welcomes no proxy before all are back or the grace period ends",
  async (t) => {
    const daemon = startDaemon([gauge]);
    daemon.proxy("p1");
    const busy = daemon.proxy("p2");
    const lease = askFor(busy, 2, "/team")!;
    await daemon.snapshot();
    const next = startDaemon([gauge], { store: daemon.store.crash() });
    const first = next.proxy("p1");
    t.same(first.received, [], "p2 may hold slots: p1 waits");
    const second = next.proxy("p2", [lease]);
    t.equal(first.received[0]?.kind, "welcome");
    t.equal(second.received[0]?.kind, "welcome");
    t.equal(counts(next, gauge).inFlight, 1);
    const third = startDaemon([gauge], { store: daemon.store.crash() });
    const alone = third.proxy("p1");
    t.notOk(alone.send({ kind: "hold", leases: [] }), "nothing is told before the welcome");
    endReconnectGrace(third.state);
    t.equal(alone.received[0]?.kind, "welcome");
  },
);

t.test(
  "a daemon that starts after a crash waits for a proxy that connected after the last snapshot",
  async (t) => {
    const daemon = startDaemon([gauge]);
    await daemon.snapshot();
    daemon.proxy("p1");
    await daemon.commit();
    t.same(
      [...(startDaemon([gauge], { store: daemon.store.crash() }).state.expectedProxies ?? [])],
      ["p1"],
    );
  },
);

t.test(
  "the grace period ends without the missing proxies, and no proxy is welcomed twice",
  async (t) => {
    const first = startDaemon([gauge]);
    for (const id of ["p1", "p2"]) first.proxy(id);
    await first.snapshot();
    const daemon = startDaemon([gauge], { store: first.store.crash() });
    const peer = daemon.proxy("p1");
    const cli = daemon.connect();
    cli.send({
      kind: "hello",
      id: 1,
      wireVersion,
      role: "cli",
      proxyId: "c",
      leases: [],
      more: false,
    });
    const silent = daemon.connect();
    for (let i = 0; i < 2; i++) endReconnectGrace(daemon.state);
    t.same(
      [peer, cli, silent].map(({ received }) => received.map(({ kind }) => kind)),
      [["welcome"], ["welcome"], []],
    );
    await daemon.snapshot();
    const next = startDaemon([gauge], { store: daemon.store.crash() });
    t.same([...(next.state.expectedProxies ?? [])], ["p1"]);
  },
);
