/** What the daemon tells of itself at /metrics/limiter. */
import t from "tap";
import { familiesOf } from "../../../shared/metrics/metrics-answer.js";
import { writeMetrics } from "../../../shared/metrics/write-metrics.js";
import { parseMetrics, type Sample } from "../../support/parse-metrics.js";
import { ask, askFor, pathRule, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

async function samples(daemon: TestDaemon, rulesMax: number): Promise<readonly Sample[]> {
  const answer = await ask(daemon, "metrics", { rules_max: rulesMax });
  const text = [...writeMetrics(familiesOf(answer), "openmetrics")].join("");
  return [...parseMetrics(text, true).values()].flatMap((family) => family.samples);
}

const valuesOf = (all: readonly Sample[], name: string): unknown[] =>
  all.filter((sample) => sample.name === name).map(({ labels, value }) => [labels, value]);

t.test(
  "rules and budgets are told with what they have used, in the order of their lists",
  async (t) => {
    const daemon = startDaemon(
      [
        pathRule("/b", 60, { requests: 10, tokens: 500 }),
        pathRule("/a", 0, { requests: 3 }),
        { ...pathRule("/team", 60, { requests: 1 }), perChild: true },
      ],
      {
        budgets: [
          {
            scope: "user_path",
            subject: "/b",
            periodSeconds: 86_400,
            amountUsd: 2.5,
            perChild: false,
          },
        ],
      },
    );
    const proxy = daemon.proxy("p1");
    askFor(proxy, 2, "/b/x");
    askFor(proxy, 3, "/a");
    const all = await samples(daemon, 500);
    const a = { scope: "user_path", subject: "/a", period: "concurrent" };
    const b = { scope: "user_path", subject: "/b", period: "minute" };
    t.same(valuesOf(all, "sluice_rule_used"), [
      [{ ...a, dimension: "concurrent" }, 1],
      [{ ...b, dimension: "requests" }, 1],
      [{ ...b, dimension: "tokens" }, 0],
    ]);
    t.same(valuesOf(all, "sluice_rule_limit"), [
      [{ ...a, dimension: "concurrent" }, 3],
      [{ ...b, dimension: "requests" }, 10],
      [{ ...b, dimension: "tokens" }, 500],
    ]);
    t.same(valuesOf(all, "sluice_rule_in_flight"), [
      [a, 1],
      [b, 1],
    ]);
    const day = { scope: "user_path", subject: "/b", period: "daily" };
    t.same(valuesOf(all, "sluice_budget_spent_usd"), [[day, 0]]);
    t.same(valuesOf(all, "sluice_budget_amount_usd"), [[day, 2.5]]);
    t.match(valuesOf(all, "sluice_budget_period_end_timestamp_seconds"), [[day, 1_767_312_000]]);
    t.same(valuesOf(all, "sluice_metrics_rules_left_out"), [[{}, 0]]);
    t.same(valuesOf(all, "sluice_limiter_admissions_total"), [
      [{ verdict: "admitted" }, 2],
      [{ verdict: "refused" }, 0],
      [{ verdict: "over_budget" }, 0],
      [{ verdict: "denied" }, 0],
    ]);
    t.same(valuesOf(all, "sluice_limiter_in_flight"), [[{}, 2]]);
  },
);

t.test("more rules than allowed are left out, and counted", async (t) => {
  const rules = Array.from({ length: 30 }, (_, i) => pathRule(`/r${i}`, 60, { requests: 1 }));
  const daemon = startDaemon(rules);
  const all = await samples(daemon, 7);
  t.equal(valuesOf(all, "sluice_rule_limit").length, 7);
  t.same(valuesOf(all, "sluice_metrics_rules_left_out"), [[{}, 23]]);
  t.same(valuesOf(all, "sluice_limiter_rules"), [[{}, 30]]);
  const none = await samples(daemon, 0);
  t.same(valuesOf(none, "sluice_rule_limit"), []);
});

t.test("a question that says no number is refused", async (t) => {
  const daemon = startDaemon([]);
  for (const body of [null, {}, { rules_max: -1 }, { rules_max: 1001 }, { rules_max: "7" }])
    await t.rejects(ask(daemon, "metrics", body), JSON.stringify(body));
});

t.test("what another release tells is passed over where it isn't known", async (t) => {
  const known = ["sluice_limiter_proxies", [], [2]];
  for (const other of [
    ["sluice_limiter_later", [], [1]],
    ["sluice_limiter_rules", ["extra"], [1]],
    ["sluice_limiter_rules", [], [1, 2]],
    ["sluice_limiter_rules", [], ["1"]],
    ["__proto__", [], [1]],
    null,
    7,
  ]) {
    const families = familiesOf({ series: [other, known] });
    const text = [...writeMetrics(families, "prometheus")].join("");
    t.same([...parseMetrics(text).keys()], ["sluice_limiter_proxies"]);
  }
  for (const answer of [null, {}, { series: 3 }])
    t.equal([...writeMetrics(familiesOf(answer), "prometheus")].join(""), "");
});
