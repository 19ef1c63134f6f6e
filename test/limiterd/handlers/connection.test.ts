import t from "tap";
import { closeTimedOutPeers, connect, receive } from "../../../limiterd/handlers/connection.js";
import { commandIdleMs, frameBytesMaxToDaemon, helloDeadlineMs } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { askFor, counts, pathRule, startDaemon } from "../in-memory-daemon.js";

const gauge = pathRule("/team", 0, { requests: 2 });

t.test("the end of a connection frees its slots immediately, and only its own", (t) => {
  const daemon = startDaemon([gauge]);
  const dying = daemon.proxy("p1");
  const living = daemon.proxy("p2");
  askFor(dying, 2, "/team");
  askFor(living, 2, "/team");
  t.equal(askFor(living, 3, "/team"), null, "both slots are taken");
  daemon.nowMs += 5000;
  dying.close();
  t.match(dying.state.proxy, { peer: null, seenAtMs: daemon.nowMs }, "it was seen until now");
  t.equal(counts(daemon, gauge).inFlight, 1);
  t.ok(askFor(living, 4, "/team"));
  t.end();
});

const hello = (id: number, role: "cli" | "proxy"): ToDaemon => ({
  kind: "hello",
  id,
  wireVersion,
  role,
  proxyId: "p1",
  leases: [],
  more: false,
});
const bytesOf = (message: ToDaemon): Buffer => encodeFrame(writeToDaemon(message));

/** A connection that is fed bytes. */
function connected(nowMs = 0) {
  const daemon = startDaemon([]);
  const received: FromDaemon[] = [];
  let closed = 0;
  const ports = {
    mayAdminister: true,
    send: (message: FromDaemon) => void received.push(message),
    sendBulk: () => {},
    close: () => void closed++,
  };
  const peer = connect(daemon.state, ports, nowMs);
  const reader = createFrameReader(frameBytesMaxToDaemon);
  return {
    state: daemon.state,
    peer,
    received,
    closed: () => closed,
    feed: (bytes: Buffer) => receive(daemon.state, { peer, reader }, bytes, daemon.nowMs),
  };
}

t.test("frames are handled as they are complete, until one breaks the grammar", async (t) => {
  const whole = connected();
  const bytes = bytesOf(hello(7, "cli"));
  whole.feed(bytes.subarray(0, 3));
  t.same(whole.received, []);
  whole.feed(
    Buffer.concat([bytes.subarray(3), bytesOf({ kind: "admin", id: 8, op: "status", body: null })]),
  );
  t.match(whole.received, exactly([{ kind: "welcome", id: 7 }]));
  t.equal(whole.closed(), 0);
  const twice = connected();
  twice.feed(
    Buffer.concat([bytes, bytes, bytesOf({ kind: "admin", id: 8, op: "keys.list", body: 7 })]),
  );
  t.match(twice.received, exactly([{ kind: "welcome" }]), "what follows isn't handled");
  t.equal(twice.closed(), 1);
  t.equal(twice.state.counts.closedPeers, 1);
  const endless = connected();
  const head = Buffer.alloc(4);
  head.writeUInt32LE(frameBytesMaxToDaemon + 1);
  endless.feed(Buffer.concat([head, Buffer.alloc(8)]));
  t.equal(endless.closed(), 1, "nor is a frame without bound");
  const late = connected();
  late.state.isStopping = true;
  late.feed(Buffer.concat([bytes, bytes]));
  t.same([late.received.length, late.closed()], [0, 0], "a stopping daemon listens to nobody");
});

t.test("who says no hello is closed in time, and so is a command line at rest", async (t) => {
  for (const [role, afterMs, closed, counted] of [
    [null, helloDeadlineMs - 1, 0, 0],
    [null, helloDeadlineMs, 1, 1],
    ["cli", commandIdleMs - 1, 0, 0],
    ["cli", commandIdleMs, 1, 0],
    ["proxy", commandIdleMs, 0, 0],
  ] as const) {
    const one = connected(1000);
    one.peer.role = role;
    closeTimedOutPeers(one.state, 1000 + afterMs);
    t.same([one.closed(), one.state.counts.closedPeers], [closed, counted], `${role} ${afterMs}`);
  }
});

t.test("of a connection that has ended nothing is left", async (t) => {
  const daemon = startDaemon([gauge]);
  const peer = daemon.proxy("p1");
  await daemon.snapshot();
  const ended: unknown[] = [];
  Object.assign(daemon.state.backups, { endCopyOf: (one: unknown) => ended.push(one) });
  peer.close();
  t.notOk(daemon.state.peers.has(peer.state));
  t.same(ended, [peer.state], "nor a copy that was made for it");
  await daemon.snapshot();
  const next = startDaemon([gauge], { store: daemon.store.crash() });
  t.equal(next.state.expectedProxies, null, "the next start doesn't wait for it");
});

t.test("a command line that asks isn't at rest", async (t) => {
  const { state, feed, peer } = connected();
  feed(bytesOf(hello(1, "cli")));
  feed(bytesOf({ kind: "admin", id: 2, op: "status", body: null }));
  t.ok(peer.askedAtMs > 0);
  t.equal(state.peers.size, 1);
});
