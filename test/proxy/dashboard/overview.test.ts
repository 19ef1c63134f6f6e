/** What the first page picks out: the fullest limits, the troubles, refusals of one kind. */
import t from "tap";
import { closestLimits } from "../../../proxy/dashboard/web/logic/closest-limits.js";
import { refusalGroups } from "../../../proxy/dashboard/web/logic/refusal-groups.js";
import { troublesOf } from "../../../proxy/dashboard/web/logic/troubles.js";
import type { BudgetItem } from "../../../shared/api/budget-item.js";
import type { DaemonStatus, Health } from "../../../shared/api/gateway-status.js";
import type { RefusalItem } from "../../../shared/api/refusal-item.js";
import type { RuleItem } from "../../../shared/api/rule-item.js";

const rule = (subject: string, more: object): RuleItem =>
  ({
    scope: "user_path",
    subject,
    period_label: "minute",
    period_seconds: 60,
    per_child: false,
    requests_used: 0,
    tokens_used: 0,
    in_flight: 0,
    ...more,
  }) as RuleItem;
const budget = (subject: string, spent: number): BudgetItem =>
  rule(subject, { spent, amount: 10 }) as unknown as BudgetItem;

t.test("the fullest come first, rules and budgets together; unused ones don't come", async (t) => {
  const closest = closestLimits(
    {
      rules: [
        rule("/a", { max_requests: 10, requests_used: 5 }),
        rule("/b", { max_requests: 10, requests_used: 1, max_tokens: 100, tokens_used: 120 }),
        rule("/unused", { max_requests: 10 }),
        rule("/template", { max_requests: 10, requests_used: 9, per_child: true }),
      ],
      budgets: [budget("/c", 7), budget("/d", 0)],
    },
    10,
  );
  t.same(
    closest.map(({ subject, kind }) => `${subject} ${kind}`),
    ["/b tokens", "/c budget", "/a requests"],
  );
  const many = Array.from({ length: 30 }, (_, i) =>
    rule(`/${i}`, { max_requests: 100, requests_used: i }),
  );
  t.equal(closestLimits({ rules: many, budgets: [] }, 10).length, 10);
});

const status = {
  enabled: true,
  usage_enabled: true,
  budgets_enabled: true,
  inert_rules: 0,
  inert_budgets: 0,
  inert: [],
  dropped_records: 0,
  pending_responses: 0,
  pending_responses_left_out: 0,
  proxy_ids: ["proxy-1"],
  open_targets: [],
  older_proxies: 0,
  store: { failing: null },
} as unknown as DaemonStatus;

t.test("nothing is shown without problems, and each problem separately", async (t) => {
  t.same(troublesOf(status, null), []);
  const table: readonly (readonly [object, Health | null, string])[] = [
    [{ store: { failing: "no space" } }, null, "store"],
    [{ enabled: false }, null, "limits-off"],
    [{ usage_enabled: false, budgets_enabled: false }, null, "usage-off"],
    [{ budgets_enabled: false }, null, "budgets-off"],
    [{ inert_rules: 2 }, null, "inert"],
    [{ inert_budgets: 1 }, null, "inert"],
    [{ dropped_records: 1 }, null, "dropped"],
    [{ older_proxies: 1 }, null, "older-proxies"],
    [{}, { limiter: { unsettled: 101 } } as Health, "unsettled"],
    [{}, { limiter: { unsettled: 0, cluster_failing: "refused" } } as Health, "cluster"],
    [{ open_targets: ["openai/gpt-5.4: 503"] }, null, "targets"],
    [{}, { capacity: { file_descriptors_exhausted: true } } as Health, "files"],
  ];
  for (const [change, health, kind] of table)
    t.same(
      troublesOf({ ...status, ...change }, health).map((trouble) => trouble.kind),
      [kind],
      kind,
    );
  t.same(troublesOf(status, { status: "ok", limiter: { unsettled: 100 } } as Health), []);
});

t.test("a client that tries again fills one line, with the latest refusal", async (t) => {
  const refusal = (user_path: string, refused_at: string): RefusalItem =>
    ({
      user_path,
      refused_at,
      model: "m",
      dimension: "requests",
      rule: { scope: "user_path", subject: "/", period_seconds: 60 },
    }) as RefusalItem;
  const groups = refusalGroups(
    [refusal("/a", "3"), refusal("/b", "2"), refusal("/a", "1"), refusal("/c", "0")],
    2,
  );
  t.same(
    groups.map(({ latest, count }) => [latest.user_path, latest.refused_at, count]),
    [
      ["/a", "3", 2],
      ["/b", "2", 1],
    ],
  );
});
