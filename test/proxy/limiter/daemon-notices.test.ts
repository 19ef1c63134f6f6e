import t from "tap";
import { applyEvent, createNotices } from "../../../proxy/limiter/daemon-notices.js";
import { ClientHarness, linkedHarness } from "./client/client-harness.js";

t.test(
  "the numbers of inert rules and budgets are those that the daemon last reported",
  async (t) => {
    const harness = new ClientHarness();
    const reported = (): unknown => [
      harness.client.notices.inertRules,
      harness.client.notices.inertBudgets,
    ];
    t.same(reported(), [null, null]);
    harness.connect();
    harness.welcome({ inertRules: 2, inertBudgets: 5 });
    t.same(reported(), [2, 5]);
    harness.receive({ kind: "event", name: "inert_rules", value: 3 });
    t.same(reported(), [3, 5]);
    harness.receive({ kind: "event", name: "inert_budgets", value: 4 });
    t.same(reported(), [3, 4]);
    harness.lose();
    t.same(reported(), [3, 4]);
  },
);

t.test(
  "why the daemon can't write its store is known until it reports otherwise, or welcomes without a report",
  async (t) => {
    const harness = new ClientHarness();
    t.equal(harness.client.notices.storeFailing, null);
    harness.connect();
    harness.welcome();
    harness.receive({ kind: "event", name: "store_failing", value: "no space left on device" });
    t.equal(harness.client.notices.storeFailing, "no space left on device");
    t.ok(harness.client.reachable, "it serves all the same");
    harness.receive({ kind: "event", name: "store_failing", value: null });
    t.equal(harness.client.notices.storeFailing, null);
    harness.receive({ kind: "event", name: "store_failing", value: "i/o error" });
    harness.lose();
    t.equal(harness.client.notices.storeFailing, "i/o error");
    harness.connect();
    harness.welcome();
    t.equal(harness.client.notices.storeFailing, null);
  },
);

t.test("when the last backup was made is what the daemon says after its welcome", async (t) => {
  const harness = linkedHarness();
  t.equal(harness.client.notices.lastBackupMs, null, "an earlier release doesn't say");
  harness.receive({ kind: "event", name: "last_backup", value: 1000 });
  t.equal(harness.client.notices.lastBackupMs, 1000);
  harness.lose();
  harness.connect();
  harness.welcome();
  t.equal(harness.client.notices.lastBackupMs, null);
});

t.test("the first key is known from the event, and from each welcome", async (t) => {
  const harness = linkedHarness();
  t.equal(harness.client.notices.keysExist, false);
  harness.receive({ kind: "event", name: "keys_exist", value: true });
  t.equal(harness.client.notices.keysExist, true);
  harness.lose();
  t.equal(harness.client.notices.keysExist, true, "as last reported");
  harness.connect();
  harness.welcome({ keysExist: false });
  t.equal(harness.client.notices.keysExist, false);
});

t.test(
  "denied JWTs stay denied while the daemon is away, until the next list or its lack",
  async (t) => {
    const harness = linkedHarness();
    const isDenied = (): boolean => harness.client.notices.deniedJwts.has({ jti: "a" }, 0);
    const denial = { claim: "jti", value: "a", issuer: null, expiresAtMs: null } as const;
    harness.receive({
      kind: "event",
      name: "jwts_denied",
      value: { denied: [denial], allowed: [], complete: true },
    });
    t.equal(isDenied(), true);
    harness.lose();
    harness.connect();
    t.equal(isDenied(), true);
    harness.welcome({ deniedJwts: 1 });
    t.equal(isDenied(), true, "the list is on its way");
    harness.lose();
    harness.connect();
    harness.welcome({ deniedJwts: 0 });
    t.equal(isDenied(), false);
  },
);

t.test("each event changes what it is about, and no more", async (t) => {
  t.match(createNotices(), { hasLimits: true, keysExist: null, clusterFailing: null });
  for (const [event, changed] of [
    [{ name: "limited", value: false }, { hasLimits: false }],
    [{ name: "inert_rules", value: 3 }, { inertRules: 3 }],
    [{ name: "inert_budgets", value: 4 }, { inertBudgets: 4 }],
    [{ name: "keys_exist", value: true }, { keysExist: true }],
    [{ name: "imported_keys_exist", value: true }, { importedKeysExist: true }],
    [{ name: "imported_keys_exist", value: false }, { importedKeysExist: false }],
    [{ name: "hard_limits", value: true }, { hasHardLimits: true }],
    [{ name: "loop_times", value: { min: 2, max: 9 } }, { loopTimes: { min: 2, max: 9 } }],
    [{ name: "store_failing", value: "disk full" }, { storeFailing: "disk full" }],
    [{ name: "cluster_failing", value: "refused" }, { clusterFailing: "refused" }],
    [{ name: "last_backup", value: 5 }, { lastBackupMs: 5 }],
  ] as const) {
    const notices = createNotices();
    applyEvent(notices, { kind: "event", ...event });
    t.same(notices, { ...createNotices(), ...changed }, event.name);
  }
});
