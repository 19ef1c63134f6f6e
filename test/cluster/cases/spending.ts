/** Budgets and usage over two hosts and a real engine: shared, cut, and rebuilt after a loss. */
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { connectEngine } from "../../../limiterd/cluster/engine/connect-engine.js";
import { openClients } from "../../../limiterd/cluster/engine/open-client.js";
import { shareSpending } from "../../../limiterd/cluster/sharing/share-spending.js";
import { ask, budget, client, noon, spend, usd } from "../../limiterd/budgets/budget-fixture.js";
import { ask as askAdmin, startDaemon, type TestDaemon } from "../../limiterd/in-memory-daemon.js";
import { until } from "../../support/client.js";
import { createPlainConfig } from "../../support/cluster/cluster-config.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";

const skip = engineProgram === null && noEngine;
const today = { user_path: "/", start_date: "2026-11-21", end_date: "2026-11-21" };

function host(t: Test, url: string, name: string): TestDaemon {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/team", 86_400, 1)] });
  const engine = connectEngine({
    clusterName: "test",
    open: openClients(createPlainConfig(url)),
    log: { info() {}, warn() {} },
    nowMs: Date.now,
    nextProbe: () => delay(1000, undefined, { ref: false }),
  });
  const stop = shareSpending(daemon.state, {
    engine,
    clusterName: "test",
    host: name,
    machine: `${name}.example`,
    usageRetentionDays: 400,
    nowMs: () => daemon.nowMs,
    engineMs: () => null,
    monoMs: () => performance.now(),
    every(ms, run) {
      const timer = setInterval(run, ms);
      return () => clearInterval(timer);
    },
    after: (ms, run) => void setTimeout(run, ms).unref(),
    onRefused: (reason) => t.fail(reason),
  });
  t.teardown(async () => {
    await stop();
    await engine.close();
  });
  return daemon;
}

interface Summary {
  readonly usage?: { readonly total_cost: number };
  readonly hosts?: { readonly scope: string; readonly count: number; readonly reason?: string };
}

t.test(
  "two hosts, and an engine that is killed and comes back with nothing",
  { skip },
  async (t) => {
    const engine = await startEngine(t);
    const [a, b] = [host(t, engine.url, "a"), host(t, engine.url, "b")];
    const [ofA, ofB] = [client(a), client(b)];
    const summary = (of: TestDaemon) => askAdmin(of, "usage.summary", today) as Promise<Summary>;
    const cost = (wanted: number) => (found: Summary) => found.usage?.total_cost === wanted;
    spend(ofA, "/team/x", 0.5 * usd);
    spend(ofB, "/team", 0.25 * usd);
    for (const daemon of [a, b])
      t.match(await until(() => summary(daemon), cost(0.75)), {
        usage: { total_cost: 0.75 },
        hosts: { scope: "all_hosts", count: 2, complete: true },
      });
    spend(ofA, "/team", 0.25 * usd);
    const refused = (answer: string): boolean => answer !== "admitted";
    t.match(await until(async () => ask(ofB, "/team"), refused), /^\/team 86400: 1 of 1/);
    await engine.kill();
    const alone = await until(
      () => summary(b),
      ({ hosts }) => hosts?.scope === "this_host",
    );
    t.match(alone, { usage: { total_cost: 0.25 }, hosts: { count: 1, reason: String } });
    t.match(ask(ofB, "/team"), /^\/team 86400: 1 of 1/, "what was last known counts");
    await engine.restart();
    for (const daemon of [a, b])
      t.match(
        await until(
          () => summary(daemon),
          (found) => cost(1)(found) && found.hosts?.count === 2,
        ),
        { usage: { total_cost: 1 }, hosts: { scope: "all_hosts", count: 2 } },
      );
    const c = host(t, engine.url, "c");
    t.match(await until(async () => ask(client(c), "/team"), refused), /^\/team 86400: 1 of 1/);
  },
);
