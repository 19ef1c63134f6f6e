import t from "tap";
import { uncountedLsn } from "../../../shared/wire/lsn.js";
import { askFor, pathRule, startDaemon, submit, target } from "../in-memory-daemon.js";

const rule = pathRule("/team", 60, { requests: 1 });

t.test("a lease holds what its settle is judged by, a submission without a target", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 9 })]);
  const peer = daemon.proxy("p1");
  const { lsn } = askFor(peer, 2, "/team")!;
  submit(peer, 3, "/team");
  const { nowMs } = daemon;
  const both = { userPath: "/team", admittedAtMs: nowMs, lsn };
  t.match(peer.state.leases.get(2), {
    ...both,
    ...{ target, targetAtMs: nowMs, targetLsn: lsn, submission: false },
  });
  t.match(peer.state.leases.get(3), {
    ...both,
    ...{ target: null, targetAtMs: 0, targetLsn: 0, submission: true },
  });
  t.equal(lsn, daemon.state.writer.lsn);
});

t.test("while rate limits are off nothing is counted, and no rule refuses", async (t) => {
  const daemon = startDaemon([rule]);
  Object.assign(daemon.state.settings, { rateLimitsEnabled: false });
  const peer = daemon.proxy("p1");
  for (const id of [2, 3]) t.equal(askFor(peer, id, "/team")?.lsn, uncountedLsn);
  t.match(daemon.state.counts, { admitted: 2, refused: 0 });
});

t.test("an allowed caller gets its own key's data, and no other key's", async (t) => {
  const peer = startDaemon([]).proxy("p1");
  peer.send({ kind: "authorize", id: 2, credential: "none" });
  t.strictSame(peer.received.at(-1), {
    kind: "authorized",
    id: 2,
    userPath: "",
    keyId: "",
    models: undefined,
  });
});

t.test("a proxy that numbers no connections may say what it has read all the same", async (t) => {
  const peer = startDaemon([]).proxy("p1");
  const asked = { userPath: "/", credential: "authenticated", targets: [target] } as const;
  t.ok(peer.send({ kind: "admit", id: 2, ...asked, submission: false, read: 9 }));
  t.equal(peer.received.at(-1)?.kind, "admitted");
});

t.test(
  "an admit without a target is judged by its path and budgets, and counted nowhere",
  async (t) => {
    const daemon = startDaemon([
      pathRule("/team", 60, { requests: 1 }),
      pathRule("/team", 0, { requests: 1 }),
      { ...pathRule("/users", 60, { requests: 1 }), perChild: true },
    ]);
    const peer = daemon.proxy("p1");
    let id = 100;
    const judged = (userPath: string, submission = false): string => {
      const asked = { id: ++id, userPath, credential: "authenticated", targets: [], submission };
      t.ok(peer.send({ read: 0, kind: "admit", ...asked }));
      const answer = peer.received.at(-1)!;
      t.equal((answer as { readonly id: number }).id, id);
      return answer.kind === "refused" ? answer.dimension : answer.kind;
    };
    for (let round = 0; round < 3; round++)
      for (const path of ["/team", "/users/ann", "/"]) t.equal(judged(path), "authorized", path);
    t.equal(peer.state.leases.size, 0);
    t.equal(daemon.state.book.childCount, 0, "no child is made");
    const before = daemon.state.counts.admitted;
    t.equal(before, 0);
    t.ok(askFor(peer, 2, "/team"), "all is left");
    t.equal(judged("/team"), "requests");
    t.equal(judged("/team", true), "requests");
    daemon.nowMs += 120_000;
    t.equal(judged("/team"), "concurrent");
    t.equal(judged("/team", true), "authorized", "a submission holds no slot");
    t.equal(daemon.state.refusals.find("req_1"), null);
    peer.send({ kind: "refusal", id: id - 1, requestId: "req_1", model: "" });
    t.same(daemon.state.refusals.find("req_1")?.targets, []);
  },
);
