import t from "tap";
import { beginTurn, waitForHosts } from "../../../limiterd/handlers/wait-for-hosts.js";
import { startDaemon, type TestPeer } from "../in-memory-daemon.js";

/** A daemon that shares, and a proxy of it, which asks for a verdict that can't be given yet. */
function waiting({ willTimeOut = false, hasRoom = true }) {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  peer.received.length = 0;
  const events: string[] = [];
  let wake: (mustDecide: boolean) => void = () => {};
  const shares = {
    turn: { willTimeOut, end: () => events.push("end") },
    refusedAway: () => events.push("refused"),
    nowMs: () => 77,
    park(run: (mustDecide: boolean) => void) {
      wake = run;
      return hasRoom;
    },
  };
  Object.assign(daemon.state, { shares });
  Object.assign(daemon.state.book, { reclaim: () => events.push("reclaim") });
  waitForHosts(daemon.state, peer.state, 5, (nowMs, mustDecide) =>
    events.push(`again ${nowMs} ${mustDecide}`),
  );
  return { daemon, peer, events, wake: (mustDecide: boolean) => wake(mustDecide) };
}

const codes = ({ received }: TestPeer): unknown[] =>
  received.map((message) => (message.kind === "failed" ? message.failure.code : message.kind));

t.test("a request waits for the engine, and is judged again with its counts", async (t) => {
  for (const mustDecide of [true, false]) {
    const { peer, events, wake } = waiting({});
    t.same([codes(peer), events, [...peer.state.parked]], [[], ["end"], [5]]);
    wake(mustDecide);
    t.same([codes(peer), events], [[], ["end", `again 77 ${mustDecide}`, "reclaim"]]);
    t.equal(peer.state.parked.size, 0);
  }
});

t.test("a request that can't wait is refused immediately", async (t) => {
  const timedOut = waiting({ willTimeOut: true });
  t.same(codes(timedOut.peer), ["cluster_unavailable"]);
  t.same(timedOut.events, ["end", "refused"]);
  const full = waiting({ hasRoom: false });
  t.same(codes(full.peer), ["overloaded"]);
  t.same(full.events, ["end"]);
  for (const { peer } of [timedOut, full]) t.equal(peer.state.parked.size, 0);
});

t.test(
  "a request isn't judged again after its peer has left, or while the daemon stops",
  async (t) => {
    const left = waiting({});
    left.daemon.state.peers.delete(left.peer.state);
    const stopping = waiting({});
    stopping.daemon.state.isStopping = true;
    for (const { wake, events, peer } of [left, stopping]) {
      wake(false);
      t.same([events, peer.state.parked.size], [["end"], 0]);
    }
  },
);

t.test("a turn asks the engine, unless it has been asked or is away", async (t) => {
  for (const [mustDecide, away, mode] of [
    [false, false, "ask"],
    [true, false, "decide"],
    [false, true, "decide"],
    [true, true, "decide"],
  ] as const) {
    const begun: string[] = [];
    const turn = { isAway: away, begin: (how: string) => begun.push(how) };
    t.equal(beginTurn({ turn } as never, mustDecide), turn as never);
    t.same(begun, [mode], `${mustDecide} ${away}`);
  }
});
