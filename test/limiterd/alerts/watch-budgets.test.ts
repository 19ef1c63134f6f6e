/** Budgets that cross thresholds, or will run out, through the daemon's own steps. */
import t from "tap";
import { noteForecasts } from "../../../limiterd/alerts/watch-budgets.js";
import type { Alert } from "../../../shared/wire/alert.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const destinations = [{ id: "a", at: [0.5, 1], forecast: true, rateLimits: false }];
const budgets = [budget("/customers", 86_400, 8, { perChild: true }), budget("/team", 86_400, 8)];

/** Takes and reports all alerts, as a proxy does. */
async function deliver(daemon: TestDaemon): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for (;;) {
    await daemon.commit();
    const { alert } = (await ask(daemon, "alerts.due", { destination: "a" })) as {
      alert: Alert | null;
    };
    if (alert === null) return alerts;
    alerts.push(alert);
    const report = { destination: "a", id: alert.id, reason: null };
    const answer = ask(daemon, "alerts.report", report);
    await daemon.commit();
    await answer;
  }
}

const names = (alerts: readonly Alert[]): string[] =>
  alerts.map(({ subject, threshold = "forecast" }) => `${subject} ${threshold}`);

t.test(
  "each child is reported for itself, with its commit, and not again after a crash",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon, budgets, destinations });
    const proxy = client(daemon);
    spend(proxy, "/customers/ann/app", 5 * usd);
    spend(proxy, "/customers/bob", 1 * usd);
    const [alert] = await deliver(daemon);
    t.match(alert, {
      type: "budget.threshold",
      subject: "/customers/ann",
      template: "/customers",
      threshold: 0.5,
      amount: 8,
      spent: 5,
      usage_ratio: 0.625,
      period_end: "2026-11-22T00:00:00Z",
    });
    const again = startDaemon([], {
      nowMs: noon,
      budgets,
      destinations,
      store: daemon.store.crash(),
    });
    const other = client(again);
    // Its first two settles repeat those from before the crash.
    for (let i = 0; i < 2; i++) spend(other, "/elsewhere", usd);
    spend(other, "/customers/ann", 1 * usd);
    t.same(names(await deliver(again)), []);
    spend(other, "/customers/ann", 2 * usd);
    spend(other, "/customers/bob", 3 * usd);
    t.same(names(await deliver(again)), ["/customers/ann 1", "/customers/bob 0.5"]);
  },
);

t.test("a reset begins anew, and a higher amount isn't reported twice", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets, destinations });
  const proxy = client(daemon);
  spend(proxy, "/team", 5 * usd);
  t.same(names(await deliver(daemon)), ["/team 0.5"]);
  const put = ask(daemon, "budgets.put", {
    user_path: "/team",
    budget_key: { period: "daily" },
    amount: 12,
  });
  await daemon.commit();
  await put;
  spend(proxy, "/team", 2 * usd);
  t.same(names(await deliver(daemon)), []);
  daemon.nowMs += hour;
  const reset = ask(daemon, "budgets.reset-one", { user_path: "/team", period: "daily" });
  await daemon.commit();
  await reset;
  spend(proxy, "/team", 6 * usd);
  t.same(names(await deliver(daemon)), ["/team 0.5"]);
});

t.test("a budget that runs out before its period ends is reported once", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets, destinations });
  const { alerts, budgets: book, writer } = daemon.state;
  const look = async (): Promise<string[]> => {
    await noteForecasts(alerts, book, { nowMs: daemon.nowMs, pause: async () => {} });
    if (alerts.isChanged) writer.closeContributed();
    return names(await deliver(daemon));
  };
  const proxy = client(daemon);
  spend(proxy, "/team", 0.1 * usd);
  daemon.nowMs += hour;
  t.same(await look(), [], "too little of it is spent");
  spend(proxy, "/team", 2 * usd);
  spend(proxy, "/customers/slow", 0.9 * usd);
  t.same(await look(), ["/team forecast", "/customers/slow forecast"]);
  t.same(await look(), []);
});
