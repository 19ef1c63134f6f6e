import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/reconnect-grace.js";
import { wireVersion } from "../../../shared/version.js";
import { askFor, counts, pathRule, startDaemon } from "../in-memory-daemon.js";

const gauge = pathRule("/team", 0, { requests: 2 });

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
  "who is missing at the end is waited for no more, and nobody is welcomed twice",
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
