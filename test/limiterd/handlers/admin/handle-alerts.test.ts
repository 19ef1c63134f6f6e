/** Alerts of hosts that share limits: one host sends each. The engine is in memory. */
import t from "tap";
import type { Alert } from "../../../../shared/wire/alert.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { budget, client, noon, spend, usd } from "../../budgets/budget-fixture.js";
import { ask, startDaemon, type TestDaemon } from "../../in-memory-daemon.js";

/** A host with one alert; `claim` has the fields of its claim in the engine. */
async function hostWithAlert(claim: Map<string, string>): Promise<TestDaemon> {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [budget("/team", 86_400, 1)],
    destinations: [{ id: "a", at: [0.8], forecast: false, rateLimits: false }],
  });
  const commands = {
    hget: async (_key: string, field: string) => claim.get(field) ?? null,
    async hset(_key: string, fields: Readonly<Record<string, string>>) {
      const before = claim.size;
      for (const [name, value] of Object.entries(fields)) claim.set(name, value);
      return claim.size - before;
    },
    pexpire: async () => true,
  };
  const cluster = { commands, name: "c", board: { identity: { id: "two" } } };
  Object.assign(daemon.state, { cluster });
  spend(client(daemon), "/team", usd);
  await daemon.commit();
  return daemon;
}

async function due(daemon: TestDaemon): Promise<Alert | null> {
  const { alert } = await ask(daemon, "alerts.due", { destination: "a" });
  return alert as Alert | null;
}

t.test("what another host sends is dropped, and counts as no delivery here", async (t) => {
  const daemon = await hostWithAlert(
    new Map([
      ["claimed", "1"],
      ["host", "one"],
    ]),
  );
  t.equal(await due(daemon), null);
  await daemon.commit();
  const { alerts } = daemon.state;
  t.match(alerts.list(), exactly([{ waiting: 0, last_delivered_at: null }]));
  t.same(alerts.counts, { delivered: 0, failed: 0, dropped: 0 });
  const stored = [...daemon.store.entries("alerts")].map(({ key }) => String(key));
  t.equal(stored.filter((key) => key.startsWith("wait")).length, 0);
});

t.test("a destination that fails still fails after another host's alert was dropped", async (t) => {
  const claim = new Map<string, string>();
  const daemon = await hostWithAlert(claim);
  const { id } = (await due(daemon))!;
  await ask(daemon, "alerts.report", { destination: "a", id, reason: "it answered 500" });
  claim.set("host", "one");
  daemon.nowMs += 5_000;
  t.equal(await due(daemon), null);
  t.match(daemon.state.alerts.list(), exactly([{ waiting: 0, failing: "it answered 500" }]));
});

t.test("a host that is about to write its id keeps the alert", async (t) => {
  const claim = new Map([["claimed", "1"]]);
  const daemon = await hostWithAlert(claim);
  t.equal(await due(daemon), null);
  claim.set("host", "one");
  daemon.nowMs += 5_000;
  t.equal(await due(daemon), null);
  t.match(daemon.state.alerts.list(), exactly([{ waiting: 0 }]));
});

t.test("a host that ended before it wrote its id is replaced a moment later", async (t) => {
  const claim = new Map([["claimed", "1"]]);
  const daemon = await hostWithAlert(claim);
  t.equal(await due(daemon), null);
  daemon.nowMs += 4_999;
  t.equal(await due(daemon), null);
  t.notOk(claim.has("host"));
  daemon.nowMs += 1;
  t.match(await due(daemon), { subject: "/team", threshold: 0.8 });
  t.equal(claim.get("host"), "two");
});
