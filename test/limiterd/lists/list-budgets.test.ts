import t from "tap";
import { DeclaredLimits } from "../../../limiterd/declared-limits.js";
import {
  budgetStatuses,
  explainBudgets,
  listBudgets,
} from "../../../limiterd/lists/list-budgets.js";
import { placeInFile } from "../../../shared/config/limits/declared-at.js";
import { budgetId } from "../../../shared/domain/budget.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import { wholeList } from "./whole-list.js";

const inert = "budgets need usage tracking, which is off";
const day = 86_400;

const items = (daemon: TestDaemon, query = {}): Record<string, unknown>[] =>
  listBudgets(daemon.state, { ...wholeList, ...query }, daemon.nowMs).budgets.map((item) => ({
    ...item,
  }));

t.test("a template has no account of its own, and no path where it is on labels", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [
      budget("/users", day, 4, { perChild: true }),
      budget("research", day, 2, { scope: "label" }),
    ],
  });
  spend(client(daemon), "/users/ann", usd);
  const period = {
    period_ratio: 0.5,
    period_label: "daily",
    period_seconds: day,
    period_start: "2026-11-21T00:00:00Z",
    period_end: "2026-11-22T00:00:00Z",
    last_reset_at: null,
    has_usage: false,
    source: "config",
    created_at: "2026-11-21T12:00:00Z",
    updated_at: "2026-11-21T12:00:00Z",
  };
  t.strictSame(items(daemon), [
    {
      scope: "label",
      subject: "research",
      effective_subject: "research",
      per_child: false,
      amount: 2,
      spent: 0,
      remaining: 2,
      usage_ratio: 0,
      ...period,
    },
    {
      scope: "user_path",
      subject: "/users",
      effective_subject: "/users",
      user_path: "/users",
      per_child: true,
      amount: 4,
      spent: 0,
      usage_ratio: 0,
      ...period,
    },
  ]);
  t.match(
    budgetStatuses(daemon.state, { userPath: "/users/ann/x" }, ["research"], noon),
    exactly([
      { scope: "label", subject: "research", user_path: undefined, spent: 0, exceeded: false },
      { subject: "/users/ann", user_path: "/users/ann", per_child: true, spent: 1, amount: 4 },
    ]),
  );
  const nextOf = (limit: number): unknown =>
    listBudgets(daemon.state, { ...wholeList, limit }, noon).next;
  t.same([nextOf(1), nextOf(2)], ["label\nresearch\n86400", null]);
  t.match(items(daemon, { chosen: { scope: "label" } }), exactly([{ subject: "research" }]));
  t.match(items(daemon, { after: "label\nresearch\n86400" }), exactly([{ subject: "/users" }]));
  t.match(items(daemon, { after: "label\nzzz\n0" }), exactly([{ subject: "/users" }]));
  t.match(items(daemon, { after: "user_path\n/a\n0" }), exactly([{ subject: "/users" }]));
  t.same(items(daemon, { after: "user_path\n/users\n86400" }), []);
});

t.test("a period's elapsed share is from 0 to 1, its end at least 1 s away", async (t) => {
  const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/", 3600, 1)] });
  const seen = (nowMs: number): unknown => {
    daemon.nowMs = nowMs;
    const [status] = budgetStatuses(daemon.state, { userPath: "/" }, [], nowMs);
    return [items(daemon)[0]!["period_ratio"], status!.resets_in_seconds];
  };
  t.same(seen(noon), [0, 3600]);
  t.same(seen(noon + hour / 4), [0.25, 2700]);
  t.same(seen(noon + hour / 4 + 1), [0.25 + 1 / hour, 2700]);
  t.same(seen(noon + hour - 1), [1 - 1 / hour, 1]);
  daemon.nowMs = noon + hour + hour / 2;
  await ask(daemon, "budgets.reset-one", { subject: "/", budget_key: { period: "hourly" } });
  t.match(
    items(daemon),
    exactly([
      {
        period_ratio: 0,
        period_start: "2026-11-21T13:30:00Z",
        last_reset_at: "2026-11-21T13:30:00Z",
        period_end: "2026-11-21T14:00:00Z",
      },
    ]),
  );
  t.same(seen(noon + hour + (3 * hour) / 4), [0.5, 900]);
});

t.test("that budgets can't be enforced is said wherever one is shown", async (t) => {
  for (const [usageEnabled, expected] of [
    [true, undefined],
    [false, inert],
  ] as const) {
    const daemon = startDaemon([], { nowMs: noon, usageEnabled, budgets: [budget("/", day, 1)] });
    const [status] = budgetStatuses(daemon.state, { userPath: "/" }, [], noon);
    const [explained] = explainBudgets(daemon.state, { userPath: "/" }, [], noon);
    t.same(
      [items(daemon)[0]!["inert"], status!.inert, explained!.inert],
      [expected, expected, expected],
    );
  }
});

t.test("a budget that a file declares has its place in the file, also after an edit", async (t) => {
  const budgets = [budget("/a", day, 1), budget("/b", day, 2, { perChild: true })];
  const places = [placeInFile(3, 1, 7), placeInFile(4, 2, 0)];
  const daemon = startDaemon([], { nowMs: noon, budgets });
  const declared = new DeclaredLimits(budgets, places, budgetId);
  for (const [i, each] of budgets.entries()) declared.note(budgetId(each), i);
  Object.assign(daemon.state.settings, { configFile: "sluice.yaml" });
  Object.assign(daemon.state.declared, { budgets: declared });
  for (const [i, each] of [...daemon.state.budgets.budgets.values()].entries())
    Object.assign(each, { declaredAt: places[i] });
  t.match(
    items(daemon),
    exactly([
      {
        subject: "/a",
        declared_at: "sluice.yaml: budgets.user_paths[3].limits[1]",
        declared_line: 7,
        overrides: undefined,
      },
      {
        subject: "/b",
        declared_at: "sluice.yaml: budgets.user_paths[4].limits[2]",
        declared_line: undefined,
      },
    ]),
  );
  await ask(daemon, "budgets.put", {
    subject: "/a",
    budget_key: { period: "daily" },
    amount: 9,
  });
  t.strictSame(
    [items(daemon)[0]!["declared_at"], items(daemon)[0]!["overrides"]],
    [
      undefined,
      {
        declared_at: "sluice.yaml: budgets.user_paths[3].limits[1]",
        declared_line: 7,
        per_child: false,
        amount: 1,
      },
    ],
  );
});

t.test(
  "an explanation says how long a budget makes a request wait, while it is enforced",
  async (t) => {
    const daemon = startDaemon([], {
      nowMs: noon,
      budgets: [budget("/users", day, 1, { perChild: true }), budget("/", day, 9)],
    });
    spend(client(daemon), "/users/ann", usd);
    const explained = (): Record<string, unknown>[] =>
      explainBudgets(daemon.state, { userPath: "/users/ann" }, [], noon).map((each) => ({
        ...each,
      }));
    t.match(
      explained(),
      exactly([
        {
          subject: "/",
          template: undefined,
          breached: undefined,
          source: "config",
          retry_after: 0,
        },
        { subject: "/users/ann", template: "/users", breached: undefined, retry_after: 43_200 },
      ]),
    );
    Object.assign(daemon.state.budgets, { hasNoRoom: () => true });
    t.match(
      explained(),
      exactly([
        { subject: "/", breached: ["children"], retry_after: 60 },
        { subject: "/users/ann", breached: ["children"], retry_after: 43_200 },
      ]),
    );
    Object.assign(daemon.state.settings, { usageEnabled: false });
    t.match(
      explained(),
      exactly([
        { breached: undefined, retry_after: 0 },
        { breached: undefined, retry_after: 0 },
      ]),
    );
  },
);
