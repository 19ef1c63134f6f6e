/** Rate limits that cross thresholds. */
import t from "tap";
import { noteWindow } from "../../../limiterd/alerts/watch-rates.js";
import { measureId, ruleId } from "../../../shared/domain/rule.js";
import type { Alert } from "../../../shared/wire/alert.js";
import { exactly } from "../../support/patterns/exactly.js";
import { noon } from "../budgets/budget-fixture.js";
import {
  ask,
  askFor,
  commitUntil,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const team = pathRule("/team", 60, { requests: 2 });
const destinations = [{ id: "a", at: [0.5, 1], forecast: false, rateLimits: true }];

/** Notes the window, and returns the alerts. */
async function alertsOf(daemon: TestDaemon, ruleIds: readonly string[]): Promise<Alert[]> {
  const { alerts, book } = daemon.state;
  for (const each of ruleIds) noteWindow(alerts, book, { ruleId: each, child: "" }, daemon.nowMs);
  const found: Alert[] = [];
  for (;;) {
    await daemon.commit();
    const alert = (await ask(daemon, "alerts.due", { destination: "a" }))["alert"] as Alert | null;
    if (alert === null) return found;
    found.push(alert);
    const report = ask(daemon, "alerts.report", { destination: "a", id: alert.id, reason: null });
    await daemon.commit();
    await report;
  }
}

t.test("the alert of a raised rule has the raised cap", async (t) => {
  const daemon = startDaemon([team], { nowMs: noon, destinations });
  const raise = { for_seconds: 7200, reason: "launch day", max_requests: 8 };
  await ask(daemon, "rate-limits.raise", {
    user_path: "/team",
    limit_key: { period: "minute" },
    ...raise,
  });
  const peer = daemon.proxy("p");
  for (let id = 2; id < 6; id++) t.ok(askFor(peer, id, "/team"));
  t.match(
    await alertsOf(daemon, [ruleId(team)]),
    exactly([{ threshold: 0.5, usage_ratio: 0.5, dimension: "requests", used: 4, limit: 8 }]),
  );
});

t.test("a part's window reports its rule once, without reading all rules", async (t) => {
  const rule = { ...team, measureCaps: { input_tokens: 1000 } };
  const daemon = startDaemon([rule], { nowMs: noon, destinations });
  t.ok(askFor(daemon.proxy("p"), 2, "/team"));
  Object.defineProperty(daemon.state.book.ruleSet, "all", {
    get: () => t.fail("it reads all rules"),
  });
  const id = ruleId(rule);
  const found = await alertsOf(daemon, [measureId(id, "input_tokens"), id]);
  t.match(found, exactly([{ threshold: 0.5, used: 1, limit: 2 }]));
});

t.test("batches cross thresholds of a cap on enqueued tokens", async (t) => {
  const capped = (subject: string, tokens: number, more = {}) => ({
    ...{ ...pathRule(subject, 0, {}), measureCaps: { enqueued_tokens: tokens } },
    ...more,
  });
  const daemon = startDaemon(
    [
      capped("/team", 100),
      capped("/", 200, { perChild: true }),
      capped("/", 10, { when: "mon 00:00-00:01 UTC" }),
    ],
    { nowMs: noon, destinations },
  );
  const reserve = (tokens: number, path = "/team/app"): Promise<unknown> =>
    ask(daemon, "batches.enqueue", { user_path: path, tokens });
  const written = async (): Promise<Alert[]> => {
    await commitUntil(daemon, daemon.snapshot());
    return alertsOf(daemon, []);
  };
  const crossed = { type: "rate_limit.threshold", dimension: "enqueued_tokens", subject: "/team" };
  await reserve(49);
  t.same(await written(), []);
  await reserve(1);
  const half = { ...crossed, threshold: 0.5, used: 50, limit: 100 };
  t.match(await written(), exactly([half]));
  await reserve(50);
  await t.rejects(reserve(1));
  t.match(
    await written(),
    exactly([
      { ...crossed, template: "/", threshold: 0.5, used: 100, limit: 200 },
      { ...crossed, threshold: 1, used: 100, limit: 100 },
    ]),
  );
  // A batch whose reservation has ended.
  const lease = { lease: 0, userPath: "/other", admittedAtMs: 0, lsn: 0, target: null };
  const record = executed({ endpoint: "/v1/batches", responseId: "batch_1", batchTokens: 150 });
  const submitted = { ...lease, targetAtMs: 0, targetLsn: 0, submission: false };
  daemon.proxy("p").send({ ...settleOf(submitted, 1, 0), record });
  t.match(
    await written(),
    exactly([{ ...crossed, subject: "/other", threshold: 0.5, used: 150, limit: 200 }]),
  );
});

t.test("a rule on loops alone crosses no threshold", async (t) => {
  const loops = {
    ...{ warn_after: 5, refuse_after: 0, compare_results: true },
    ...{ warn_after_turns: 200, refuse_after_turns: 0 },
  };
  const rule = { ...pathRule("/team", 0, {}), loops };
  const fromZero = [{ ...destinations[0]!, at: [0] }];
  const daemon = startDaemon([rule], { nowMs: noon, destinations: fromZero });
  t.same(await alertsOf(daemon, [ruleId(rule)]), []);
});
