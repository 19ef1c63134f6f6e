import t from "tap";
import { beginTurn, waitForHosts } from "../../../limiterd/handlers/wait-for-hosts.js";
import { startDaemon, type TestPeer } from "../in-memory-daemon.js";

/** A daemon that shares, and a proxy of it, which asks for a verdict that can't be given yet. */
function waiting({ willTimeOut = false, hasRoom = true }) {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  peer.received.length = 0;
  const told: string[] = [];
  let wake: (final: boolean) => void = () => {};
  const shares = {
    turn: { willTimeOut, end: () => told.push("end") },
    refusedAway: () => told.push("refused"),
    nowMs: () => 77,
    park(run: (final: boolean) => void) {
      wake = run;
      return hasRoom;
    },
  };
  Object.assign(daemon.state, { shares });
  Object.assign(daemon.state.book, { reclaim: () => told.push("reclaim") });
  waitForHosts(daemon.state, peer.state, 5, (nowMs, final) => told.push(`again ${nowMs} ${final}`));
  return { daemon, peer, told, wake: (final: boolean) => wake(final) };
}

const codes = ({ received }: TestPeer): unknown[] =>
  received.map((message) => (message.kind === "failed" ? message.failure.code : message.kind));

t.test("a request waits for the engine, and is judged again with what it has said", async (t) => {
  for (const final of [true, false]) {
    const { peer, told, wake } = waiting({});
    t.same([codes(peer), told, [...peer.state.parked]], [[], ["end"], [5]]);
    wake(final);
    t.same([codes(peer), told], [[], ["end", `again 77 ${final}`, "reclaim"]]);
    t.equal(peer.state.parked.size, 0);
  }
});

t.test("who can't wait is refused at once, and isn't noted as waiting", async (t) => {
  const hopeless = waiting({ willTimeOut: true });
  t.same(codes(hopeless.peer), ["cluster_unavailable"]);
  t.same(hopeless.told, ["end", "refused"]);
  const full = waiting({ hasRoom: false });
  t.same(codes(full.peer), ["overloaded"]);
  t.same(full.told, ["end"]);
  for (const { peer } of [hopeless, full]) t.equal(peer.state.parked.size, 0);
});

t.test("nobody is judged again who has left, or whose daemon stops", async (t) => {
  const left = waiting({});
  left.daemon.state.peers.delete(left.peer.state);
  const stopping = waiting({});
  stopping.daemon.state.stopping = true;
  for (const { wake, told, peer } of [left, stopping]) {
    wake(false);
    t.same([told, peer.state.parked.size], [["end"], 0]);
  }
});

t.test("a turn asks the engine, unless it has been asked or is away", async (t) => {
  const { state } = startDaemon([]);
  t.equal(beginTurn(state, false), null, "without a cluster there is none");
  for (const [final, away, mode] of [
    [false, false, "ask"],
    [true, false, "decide"],
    [false, true, "decide"],
    [true, true, "decide"],
  ] as const) {
    const begun: string[] = [];
    const turn = { away, begin: (how: string) => begun.push(how) };
    Object.assign(state, { shares: { turn } });
    t.equal(beginTurn(state, final), turn);
    t.same(begun, [mode], `${final} ${away}`);
  }
});
