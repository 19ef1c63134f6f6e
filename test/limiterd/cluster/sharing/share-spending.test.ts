import t from "tap";
import {
  type SpendingPorts,
  shareSpending,
} from "../../../../limiterd/cluster/sharing/share-spending.js";
import { refusals } from "../../../../limiterd/lifecycle/cluster/refusals.js";
import { createFakeEngine, type FakeEngine } from "../../../support/cluster/fake-engine.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ask, budget, client, noon, spend, usd } from "../../budgets/budget-fixture.js";
import { ask as askAdmin, startDaemon } from "../../in-memory-daemon.js";

const daily = budget("/team", 86_400, 1);
const today = { user_path: "/", start_date: "2026-11-21", end_date: "2026-11-21" };

function host(engine: FakeEngine, name: string, usageEnabled = true) {
  const daemon = startDaemon([], { nowMs: noon, budgets: [daily], usageEnabled });
  const connection = engine.connect();
  const timers = new Set<() => void>();
  const refused: string[] = [];
  let monoMs = 0;
  const ports: SpendingPorts = {
    engine: connection,
    clusterName: "sluice",
    host: name,
    machine: `${name}.example`,
    usageRetentionDays: 400,
    nowMs: () => daemon.nowMs,
    engineMs: () => null,
    monoMs: () => monoMs,
    every(_ms, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    after() {},
    onRefused: refusals({
      monoMs: () => monoMs,
      onRefused: (reason) => void refused.push(reason),
      onRefusing() {},
    }).refused,
  };
  const stop = shareSpending(daemon.state, ports);
  return {
    daemon,
    proxy: client(daemon),
    connection,
    refused,
    timers,
    stop,
    async pass(ms: number) {
      monoMs += ms;
      for (const run of timers) run();
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

t.test("hosts share spend and usage until they stop, and tell all before they do", async (t) => {
  const engine = createFakeEngine(noon);
  const [a, b] = [host(engine, "a"), host(engine, "b")];
  spend(a.proxy, "/team", 0.75 * usd);
  ask(b.proxy, "/team");
  await a.pass(500);
  await b.pass(500);
  t.match(await askAdmin(b.daemon, "usage.summary", today), {
    usage: { total_cost: 0.75 },
    hosts: { count: 2 },
  });
  spend(a.proxy, "/team", 0.25 * usd);
  await a.stop();
  t.equal(a.timers.size, 0);
  await b.pass(500);
  t.match(ask(b.proxy, "/team"), /1 of 1/);
  t.match(await askAdmin(b.daemon, "usage.summary", today), { usage: { total_cost: 1 } });
  engine.wipe();
  spend(b.proxy, "/other", 1);
  await b.pass(500);
  t.match([...engine.data.hashes.keys()].join(), /usage:b/);
  t.notMatch([...engine.data.hashes.keys()].join(), /usage:a/, "it has stopped");
});

t.test("a new epoch gets all spend again, now or when the engine is back", async (t) => {
  const engine = createFakeEngine(noon);
  const [a, b] = [host(engine, "a"), host(engine, "b")];
  spend(a.proxy, "/team", 0.5 * usd);
  await a.pass(500);
  a.connection.away("cut off");
  engine.wipe();
  await a.pass(500);
  a.connection.back();
  await a.pass(500);
  ask(b.proxy, "/team");
  await b.pass(500);
  t.match(
    await askAdmin(b.daemon, "budgets.list", { after: null }),
    exactly({ budgets: [{ spent: 0.5 }] }),
  );
});

t.test("what the engine refuses is logged once a minute", async (t) => {
  const engine = createFakeEngine(noon);
  const a = host(engine, "a");
  for (const key of ["spend:user_path\n/team\n86400\n", "usage:a:2026-11-21"])
    engine.data.strings.set(`sluice:sluice:${key}`, "not ours");
  spend(a.proxy, "/team", 0.5 * usd);
  await a.pass(500);
  await a.pass(500);
  t.equal(a.refused.length, 1);
  await a.pass(60_000);
  t.equal(a.refused.length, 2);
});

t.test("without usage nothing of it is published, and reports are refused as ever", async (t) => {
  const engine = createFakeEngine(noon);
  const a = host(engine, "a", false);
  await a.pass(1000);
  t.equal(a.timers.size, 1);
  t.equal(a.daemon.state.usage.otherHosts, null);
  t.equal(engine.data.hashes.size, 0);
  await a.stop();
});
