import t from "tap";
import { wireVersion } from "../../../shared/version.js";
import { pathRule, startDaemon } from "../in-memory-daemon.js";

t.test("a proxy that is welcome is told what is wrong, and a command line isn't", async (t) => {
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
