import t from "tap";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { wireVersion } from "../../../shared/version.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  counts,
  pathRule,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 100 });
const gauge = pathRule("/team", 0, { requests: 100 });
const rules = [minute, gauge];

const admit = (id: number, read = 0): ToDaemon => ({
  kind: "admit",
  id,
  userPath: "/team",
  credential: "authenticated",
  targets: [target],
  submission: false,
  read,
});

/** The next connection of the proxy, whose hellos have ascending ids. */
function connect(
  daemon: TestDaemon,
  id: number,
  earlier: readonly (readonly [number, number])[],
): TestPeer {
  const peer = daemon.connect();
  const role = "proxy";
  const proxyId = "p1";
  peer.send({ kind: "hello", id, wireVersion, role, proxyId, leases: [], more: false });
  t.ok(peer.send({ kind: "read", connection: earlier.length + 1, earlier }));
  return peer;
}

t.test("what was counted for verdicts beyond those that were read is taken back", async (t) => {
  for (const [read, left] of [
    [0, 0],
    [2, 2],
    [5, 5],
  ] as const) {
    const daemon = startDaemon(rules);
    const peer = connect(daemon, 1, []);
    for (let id = 2; id < 7; id++) peer.send(admit(id));
    t.equal(counts(daemon, minute).requests, 5);
    peer.close();
    t.match(counts(daemon, minute), { requests: 5, inFlight: 0 });
    connect(daemon, 8, [[1, read]]);
    t.equal(counts(daemon, minute).requests, left);
    connect(daemon, 9, [
      [1, 0],
      [2, 0],
    ]);
    t.equal(counts(daemon, minute).requests, left, "once");
  }
});

t.test("of a reroute that was never read, what its target counted is taken back", async (t) => {
  const ofTarget: RuleDefinition = { ...minute, scope: "model", subject: "gpt-4o" };
  const daemon = startDaemon([minute, ofTarget]);
  const peer = connect(daemon, 1, []);
  peer.send(admit(2));
  peer.send({ kind: "reroute", id: 3, lease: 2, targets: [target], read: 1 });
  const requests = (): number[] => [minute, ofTarget].map((rule) => counts(daemon, rule).requests);
  t.same(requests(), [1, 2]);
  peer.close();
  connect(daemon, 4, [[1, 1]]);
  t.same(requests(), [1, 1]);
});

t.test("what was acknowledged since, or isn't named any more, stays counted", async (t) => {
  const daemon = startDaemon(rules);
  const first = connect(daemon, 1, []);
  first.send(admit(2));
  first.send(admit(3, 1));
  t.equal(daemon.state.proxies.all.get("p1")!.unread.size, 1);
  first.close();
  connect(daemon, 4, [[7, 0]]);
  t.equal(counts(daemon, minute).requests, 2);
});

t.test("a proxy that has read what was never sent, or says it twice, is closed", async (t) => {
  const daemon = startDaemon(rules);
  const peer = connect(daemon, 1, []);
  t.ok(peer.send(admit(2, 0)));
  t.notOk(peer.send(admit(3, 2)));
  t.notOk(peer.send({ kind: "reroute", id: 4, lease: 2, targets: [target], read: 2 }));
  t.notOk(peer.send({ kind: "read", connection: 1, earlier: [] }));
  t.notOk(daemon.connect().send({ kind: "read", connection: 1, earlier: [] }));
});

t.test(
  "of two connections of a proxy the later one counts, in whatever order they say hello",
  async (t) => {
    for (const order of ["early first", "late first"]) {
      const daemon = startDaemon(rules);
      const [a, b] = order === "early first" ? [5, 9] : [9, 5];
      const one = connect(daemon, a, []);
      one.send(admit(20));
      const other = connect(daemon, b, []);
      const [left, present] = order === "early first" ? [one, other] : [other, one];
      const sent = left.received.length;
      const held = { kind: "reroute", id: 21, lease: 20, targets: [target], read: 0 } as const;
      for (const message of [admit(21), held, { kind: "hold", leases: [] } as const])
        t.ok(left.send(message), "it is passed over");
      t.equal(left.received.length, sent);
      t.match(counts(daemon, gauge), { inFlight: order === "early first" ? 0 : 1 });
      present.send(admit(22));
      t.equal(present.received.at(-1)!.kind, "admitted");
      left.close();
      t.equal(daemon.state.proxies.all.get("p1")!.peer, present.state);
    }
  },
);

t.test(
  "the list of unread verdicts is on the disk with what they counted, and goes with it",
  async (t) => {
    const daemon = startDaemon(rules);
    const peer = connect(daemon, 1, []);
    peer.send(admit(2));
    await daemon.commit();
    t.equal([...daemon.store.entries("unread")].length, 1);
    peer.send(admit(3, 1));
    await daemon.commit();
    t.match(
      [...daemon.store.entries("unread")],
      exactly([{ key: "p1", value: { 0: 1, 1: 2, 2: "/team" } }]),
    );
    peer.close();
    connect(daemon, 4, [[1, 1]]);
    await daemon.commit();
    t.same([...daemon.store.entries("unread")], []);
    t.equal(counts(daemon, minute).requests, 1);
  },
);
