import t from "tap";
import { handleFrame } from "../../../limiterd/handlers/handle-message.js";
import { leasesPerPeerMax, readsWaitingMax } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import { adminOps } from "../../../shared/wire/admin-op.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  askFor,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const all = "admit reroute authorize hold release refusal read admin settle";

const ofCallers: readonly string[] = [
  "rate-limits.banned",
  "objects.own",
  "objects.owners",
  "responses.pending",
  "responses.due",
  "responses.forget",
  "loops.find",
  "batches.capped",
  "batches.enqueue",
  "batches.withdraw",
  "batches.settle",
  "explain",
  "usage.status",
  "sessions.open",
  "sessions.check",
  "sessions.close",
  "sessions.failed",
  "targets.report",
  "alerts.due",
  "alerts.report",
  "requests.report",
  "configuration.report",
];

t.test("who came by the socket for requests asks what callers may know, and nothing else", (t) => {
  for (const role of ["proxy", "cli"] as const)
    for (const mayAdminister of [true, false])
      for (const op of adminOps) {
        const peer = startDaemon([]).connect(mayAdminister);
        peer.send({
          kind: "hello",
          id: 1,
          wireVersion,
          role,
          proxyId: "p",
          leases: [],
          more: false,
        });
        t.ok(peer.send({ kind: "admin", id: 2, op, body: null }), "it isn't closed for it");
        const refused = peer.received.some(
          (message) => message.kind === "failed" && message.failure.status === 403,
        );
        const allowed = mayAdminister || ofCallers.includes(op);
        t.equal(refused, !allowed, `${role}, ${op}, ${mayAdminister ? "admin" : "requests"}`);
      }
  t.end();
});

t.test(
  "an operation of a later release is refused, and the peer keeps what it holds",
  async (t) => {
    const daemon = startDaemon([]);
    const peer = daemon.proxy("p");
    const frame = ["admin", 9, "limits.forecast", { for: "/team" }];
    const admitted = askFor(peer, 3, "/team");
    t.ok(handleFrame(daemon.state, peer.state, frame, daemon.nowMs));
    t.match(peer.received.at(-1), {
      kind: "failed",
      id: 9,
      failure: {
        status: 501,
        code: "operation_unknown",
        message:
          "the limiter daemon (sluice test) doesn't know the operation limits.forecast: it is older than its peer",
      },
    });
    t.ok(peer.send(settleOf(admitted!, 1, 10)));
    t.equal(daemon.state.counts.closedPeers, 0);
    t.notOk(
      handleFrame(daemon.state, daemon.connect().state, frame, daemon.nowMs),
      "before the hello it is no peer's",
    );
  },
);

t.test("a peer that breaks the grammar is to be closed", (t) => {
  const hello = {
    kind: "hello",
    id: 1,
    wireVersion,
    role: "proxy",
    proxyId: "p",
    leases: [],
    more: false,
  } as const;
  const lease = {
    lease: 5,
    userPath: "/team",
    admittedAtMs: 0,
    lsn: 0,
    target,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  t.notOk(
    startDaemon([])
      .connect()
      .send({
        read: 0,
        kind: "admit",
        id: 1,
        userPath: "/",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "an admission before the hello",
  );
  t.notOk(startDaemon([]).proxy("p").send(hello), "a second hello");
  const notes = [
    { kind: "release", id: 3 },
    { kind: "refusal", id: 3, requestId: "req_3", model: "m" },
  ] as const;
  for (const note of notes) {
    t.notOk(startDaemon([]).connect().send(note), `a ${note.kind} before the hello`);
    t.ok(startDaemon([]).proxy("p").send(note), `a ${note.kind} of what isn't known`);
  }
  t.notOk(
    startDaemon([])
      .proxy("p")
      .send({
        read: 0,
        kind: "admit",
        id: 0,
        userPath: "/",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "the lease 0",
  );
  t.notOk(
    startDaemon([])
      .proxy("p")
      .send({
        read: 0,
        kind: "admit",
        id: 9,
        userPath: "/a//b",
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    "a path that isn't normal",
  );
  t.notOk(
    startDaemon([]).proxy("p").send({ read: 0, kind: "reroute", id: 9, lease: 2, targets: [] }),
    "no target",
  );
  t.notOk(
    startDaemon([])
      .proxy("p")
      .send(settleOf(lease, 0, 1)),
    "a settle without a number",
  );
  t.notOk(
    startDaemon([])
      .connect()
      .send({ ...hello, leases: [lease, lease] }),
    "a lease that is named twice",
  );
  const taken = startDaemon([]).proxy("p");
  askFor(taken, 7, "/");
  t.notOk(
    taken.send({
      read: 0,
      kind: "admit",
      id: 7,
      userPath: "/",
      credential: "authenticated",
      targets: [target],
      submission: false,
    }),
    "an admission under a lease that is held",
  );
  const old = startDaemon([]).connect();
  t.ok(old.send({ ...hello, wireVersion: 999 }));
  t.notOk(askFor(old, 7, "/"), "an admission in another version");
  t.end();
});

t.test("beyond its leases a proxy is refused, and keeps its connection and what it holds", (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const first = askFor(peer, 1, "/")!;
  const held = peer.state.leases.get(1)!;
  for (let id = 2; id <= leasesPerPeerMax; id++) peer.state.leases.set(id, held);
  const admit = {
    kind: "admit",
    userPath: "/",
    credential: "authenticated",
    targets: [target],
    submission: false,
  } as const;
  for (const id of [leasesPerPeerMax + 1, leasesPerPeerMax + 2]) {
    t.ok(peer.send({ read: 0, ...admit, id }));
    t.match(peer.received.at(-1), {
      kind: "failed",
      id,
      failure: { status: 503, code: "overloaded", message: /holds 65536 requests of this proxy/ },
    });
  }
  t.equal(peer.state.leases.size, leasesPerPeerMax);
  t.ok(peer.send(settleOf(first, 1, 5)));
  t.ok(askFor(peer, leasesPerPeerMax + 3, "/"), "there is room again");
  t.end();
});

t.test("of a peer that takes no answer, a bounded number of reads wait", (t) => {
  const peer = startDaemon([]).proxy("p1");
  const taken: (() => void)[] = [];
  Object.assign(peer.state, {
    sendBulk: (message: (typeof peer.received)[number], then: (nowMs: number) => void) => {
      peer.received.push(message);
      taken.push(() => then(0));
    },
  });
  peer.received.length = 0;
  for (let id = 2; id < readsWaitingMax + 5; id++)
    t.ok(peer.send({ kind: "admin", id, op: "status", body: {} }));
  t.equal(taken.length, 1, "one is made at a time");
  t.match(
    peer.received.filter(({ kind }) => kind === "failed"),
    exactly(
      [3, 4].map((id) => ({
        id: readsWaitingMax + id,
        failure: { status: 503, message: /^1000 lists and sums are already waiting/ },
      })),
    ),
  );
  t.equal(peer.state.reads.waiting, readsWaitingMax);
  for (let i = 0; i < taken.length; i++) taken[i]!();
  t.equal(peer.received.filter(({ kind }) => kind === "answer").length, readsWaitingMax + 1);
  t.end();
});

t.test("who may say what: before a hello nothing, and each role what is its own", (t) => {
  const hello = { kind: "hello", wireVersion, proxyId: "p", leases: [], more: false } as const;
  const rules = [pathRule("/team", 0, { requests: 9 })];
  const lease = {
    ...{ lease: 7, userPath: "/team", admittedAtMs: 0, lsn: 0, target },
    ...{ targetAtMs: 0, targetLsn: 0, submission: false },
  };
  const asked = { userPath: "/team", credential: "authenticated", targets: [target] } as const;
  const messages: readonly ToDaemon[] = [
    { read: 0, kind: "admit", id: 8, ...asked, submission: false },
    { read: 0, kind: "reroute", id: 9, lease: 7, targets: [target] },
    { kind: "authorize", id: 10, credential: "none" },
    { kind: "hold", leases: [{ ...lease, lease: 6 }] },
    { kind: "release", id: 7 },
    { kind: "refusal", id: 7, requestId: "r", model: "m" },
    { kind: "read", connection: 2, earlier: [] },
    { kind: "admin", id: 11, op: "status", body: null },
    settleOf(lease, 1, 5),
  ];
  const proxy = (daemon: TestDaemon, id = 1): TestPeer => {
    const peer = daemon.connect();
    peer.send({ ...hello, id, role: "proxy", leases: [{ ...lease, lease: id + 6 }] });
    return peer;
  };
  /** Who it is, and which of the messages are taken, and answered. */
  const table: readonly (readonly [string, string, string, () => TestPeer])[] = [
    ["who hasn't said hello", "", "", () => startDaemon(rules).connect()],
    ["a proxy", all, "admit reroute authorize admin", () => proxy(startDaemon(rules))],
    [
      "a command line",
      "admin",
      "admin",
      () => {
        const peer = startDaemon(rules).connect();
        peer.send({ ...hello, id: 1, role: "cli" });
        return peer;
      },
    ],
    [
      "a proxy that isn't welcome yet",
      "",
      "",
      () => {
        const daemon = startDaemon(rules);
        Object.assign(daemon.state, { expectedProxies: new Set(["p", "other"]) });
        return proxy(daemon);
      },
    ],
    [
      "a proxy of another version",
      "settle",
      "",
      () => {
        const peer = startDaemon(rules).connect();
        peer.send({ ...hello, id: 1, wireVersion: 999, role: "proxy" });
        return peer;
      },
    ],
    [
      "a proxy that has connected again since",
      all,
      "authorize admin",
      () => {
        const daemon = startDaemon(rules);
        const left = proxy(daemon);
        proxy(daemon, 2);
        return left;
      },
    ],
  ];
  for (const [who, taken, answered, connect] of table) {
    const of = { taken: [] as string[], answered: [] as string[] };
    for (const message of messages) {
      const peer = connect();
      const received = peer.received.length;
      if (peer.send(message)) of.taken.push(message.kind);
      if (peer.received.length > received) of.answered.push(message.kind);
    }
    t.same([of.taken.join(" "), of.answered.join(" ")], [taken, answered], who);
  }
  t.end();
});

t.test("each frame is a turn of what hosts share", (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p");
  let turns = 0;
  Object.assign(daemon.state, { shares: { enter: () => turns++ } });
  for (const frames of [1, 2]) {
    peer.send({ kind: "authorize", id: frames, credential: "none" });
    t.equal(turns, frames);
  }
  t.end();
});

t.test("a child's counter is put away with the frame that ends its last request", (t) => {
  const rule = { ...pathRule("/users", 0, { requests: 9 }), perChild: true };
  for (const way of ["settle", "end"] as const) {
    const daemon = startDaemon([rule]);
    const peer = daemon.proxy("p");
    const [first, second] = [askFor(peer, 2, "/users/ann")!, askFor(peer, 3, "/users/ann")!];
    const [counter] = peer.state.leases.get(2)!.counters;
    const isOut = (): boolean => daemon.state.book.find(rule)!.children.isCheckedOut(counter!);
    peer.send(settleOf(first, 1, 0));
    t.ok(isOut());
    if (way === "end") peer.close();
    else peer.send(settleOf(second, 2, 0));
    t.notOk(isOut(), way);
  }
  t.end();
});
