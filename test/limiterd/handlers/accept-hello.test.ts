import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/reconnect-grace.js";
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

t.test("the leases of an epoch that wrote nothing are counted again in the next one", async (t) => {
  const first = startDaemon([minute]);
  await first.snapshot();
  const second = startDaemon([minute], { store: first.store.crash() });
  const lease = askFor(second.proxy("p1"), 2, "/team")!;
  const third = startDaemon([minute], { store: second.store.crash() });
  t.ok(third.state.epochStartLsn > second.state.epochStartLsn);
  third.proxy("p1", [lease]);
  endReconnectGrace(third.state);
  t.same(counts(third, minute), { requests: 1, tokens: 0, inFlight: 1 });
});
