import t from "tap";
import type { BudgetDefinition } from "../../../../shared/domain/budget.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const budget = (
  subject: string,
  periodSeconds: number,
  amountUsd: number,
  perChild = false,
): BudgetDefinition => ({ scope: "user_path", subject, periodSeconds, amountUsd, perChild });
const budgetsOf = (
  text: string | null,
  env: Record<string, string> = {},
): readonly BudgetDefinition[] => accepted(text, { env }).config.budgets.budgets;

t.test("both lists of the file are read, in their order", async (t) => {
  const text = `
entitlements: [quota_templates]
budgets:
  user_paths:
    - { path: " team//App/ ", per_child: yes, limits: [ { period: daily, amount: 1.5 }, { period: "300", amount: "\${CAP}" } ] }
    - { path: "", limits: [ { period: MONTH, amount: 4, unpriced: refuse } ] }
  labels:
    - { label: " Research ", limits: [ { period_seconds: 604800, amount: 6 } ] }
`;
  t.same(budgetsOf(text, { CAP: "0.25" }), [
    budget("/team/App", 86_400, 1.5, true),
    budget("/team/App", 300, 0.25, true),
    { ...budget("/", 2_592_000, 4), unpriced: "refuse" },
    { ...budget("Research", 604_800, 6), scope: "label" },
  ]);
});

t.test("the compact and the JSON form of a variable", async (t) => {
  const table: readonly (readonly [string, string, readonly BudgetDefinition[]])[] = [
    [
      "SET_BUDGET_TEAM",
      "daily=10,weekly=50",
      [budget("/team", 86_400, 10), budget("/team", 604_800, 50)],
    ],
    [
      "SET_BUDGET_",
      " Weekly : 50.5 ;\n HOUR = 1 ",
      [budget("/", 3600, 1), budget("/", 604_800, 50.5)],
    ],
    ["SET_BUDGET_USER_123", "day=1,daily=2", [budget("/user_123", 86_400, 2)]],
    [
      "SET_BUDGET_TEAM__ALPHA",
      '[{"period":"monthly","amount":0.5,"per_child":true},{"period_seconds":60,"amount":1,"unpriced":"allow"}]',
      [
        budget("/team/alpha", 2_592_000, 0.5, true),
        { ...budget("/team/alpha", 60, 1), unpriced: "allow" },
      ],
    ],
    ["SET_BUDGET_TEAM", "[]", []],
    ["SET_BUDGET_TEAM", "  ", []],
  ];
  for (const [name, value, expected] of table)
    t.same(
      budgetsOf(null, { [name]: value, SLUICE_ENTITLEMENTS: "quota_templates" }),
      expected,
      value,
    );
});

t.test("a variable replaces all limits of the file for its path, and nothing else", async (t) => {
  const text = `
budgets:
  user_paths:
    - { path: /team, limits: [ { period: daily, amount: 1 }, { period: weekly, amount: 2 } ] }
    - { path: /other, limits: [ { period: daily, amount: 3 } ] }
  labels: [ { label: /team, limits: [ { period: daily, amount: 4 } ] } ]
`;
  t.same(budgetsOf(text, { SET_BUDGET_TEAM: "monthly=9" }), [
    budget("/other", 86_400, 3),
    { ...budget("/team", 86_400, 4), scope: "label" },
    budget("/team", 2_592_000, 9),
  ]);
  t.equal(budgetsOf(text, { SET_BUDGET_TEAM: "[]" }).length, 2);
});

t.test("every mistake is reported with its place", async (t) => {
  const text = `
budgets:
  user_paths:
    - { path: /a, per_child: true, limits: [ { period: minute, amount: 0 } ] }
    - { path: "/b/..", limits: [ { period: daily, amount: 1 } ] }
    - { path: /c, limits: [ { period: daily }, { period: day, amount: 1 }, { period_seconds: 86400, amount: 1, max_requests: 3 } ] }
    - { path: /d }
  labels:
    - { label: " ", limits: [ { period: daily, amount: abc } ] }
    - { label: y, limits: [ { period: daily, amount: .inf }, { period_seconds: .nan, amount: 1 } ] }
    - { label: x, per_child: true, limits: [ { period: daily, period_seconds: 3, amount: 1 } ] }
`;
  t.same(refused(text), [
    "budgets.user_paths[2].limits[2].max_requests is not a known key: expected period, period_seconds, models, amount, unpriced, time_zone, anchor_day, rolling, rollover, on_exhausted, hold",
    "budgets.user_paths[3].limits is required",
    "budgets.labels[2].per_child is not a known key: expected label, limits",
    "budgets.user_paths[0]: per_child on /a requires the entitlement quota_templates: add the line entitlements: [quota_templates]",
    'budgets.user_paths[0].limits[0].period must be hourly, daily, weekly, monthly, quarterly, yearly, session or a number of seconds, not "minute"',
    "budgets.user_paths[0].limits[0].amount must be a finite number of US dollars greater than 0, not 0",
    'budgets.user_paths[1].path must not hold the segment .., as "/b/.." does',
    "budgets.user_paths[2].limits[0].amount is required: US dollars, greater than 0",
    "budgets.labels[0].label is required for the scope label",
    'budgets.labels[0].limits[0].amount must be a finite number of US dollars greater than 0, not "abc"',
    "budgets.labels[1].limits[0].amount must be a finite number of US dollars greater than 0, not Infinity",
    "budgets.labels[1].limits[1].period_seconds must be an integer from 0 (session) to 3153600000, not NaN",
    "budgets.labels[2].limits[0].period and budgets.labels[2].limits[0].period_seconds exclude each other: give exactly one",
    "budgets.user_paths[2].limits[2] declares the same budget as budgets.user_paths[2].limits[1] (/c daily): keep one of them",
  ]);
  const table: readonly (readonly [Record<string, string>, string | RegExp])[] = [
    [{ SET_BUDGET_A: "daily" }, 'SET_BUDGET_A must hold pairs such as daily=10, not "daily"'],
    [
      { SET_BUDGET_A: "dayly=1" },
      'SET_BUDGET_A holds the unknown key "dayly"; did you mean daily?',
    ],
    [
      { SET_BUDGET_A: "Daily=-1" },
      "SET_BUDGET_A: daily must be a finite number of US dollars greater than 0, not -1",
    ],
    [
      { SET_BUDGET_A: "daily=1e-20" },
      "SET_BUDGET_A: daily must be at least 1e-12 US dollars, a pico-dollar, which is the smallest amount that is counted, not 1e-20",
    ],
    [
      { SET_BUDGET_A: "daily=1e400" },
      "SET_BUDGET_A: daily must be a finite number of US dollars greater than 0, not Infinity",
    ],
    [
      { SET_BUDGET_A: "daily=.inf" },
      'SET_BUDGET_A: daily must be a finite number of US dollars greater than 0, not ".inf"',
    ],
    [
      { SET_BUDGET_A: "[1]" },
      "SET_BUDGET_A[0] must be a mapping of period, period_seconds, models, amount, unpriced, time_zone, anchor_day, rolling, rollover, on_exhausted, hold, per_child, not 1",
    ],
    [
      { SET_BUDGET_A: '{"period":"daily"}' },
      'SET_BUDGET_A must be a JSON array of budgets, not {"period":"daily"}',
    ],
    [
      { SET_BUDGET_A: '[{"period":"daily","amount":1}] x' },
      /^SET_BUDGET_A must be a list of pairs such as daily=10 or a JSON array of budgets, and nothing else: /,
    ],
    [
      { SET_BUDGET_A: '[{"period":"daily","amount":1,"per_child":1}]' },
      "SET_BUDGET_A[0].per_child must be true or false, not 1",
    ],
    [
      { SET_BUDGET_A: '[{"period":"daily","amount":1,"per_child":true}]' },
      "SET_BUDGET_A[0]: per_child on /a requires the entitlement quota_templates: add the line entitlements: [quota_templates]",
    ],
    [
      { SET_BUDGET_A: "daily=1", SET_BUDGET_a: "daily=2" },
      "SET_BUDGET_a and SET_BUDGET_A are both for /a: keep one of them",
    ],
    [
      { "SET_BUDGET_A:B": "daily=1" },
      'the path in SET_BUDGET_A:B must not hold a colon or a control character, as "/a:b" does',
    ],
  ];
  for (const [env, expected] of table)
    t.match(refused(null, { env }), exactly([expected]), JSON.stringify(env));
});

t.test(
  "an amount may be written with an exponent wherever it is written, be as small as a pico-dollar and as large as 10^15 dollars",
  async (t) => {
    for (const amount of [1e-12, 1e15, 1500]) {
      const text = String(amount).replace("1500", "1.5E3");
      const sources = [
        accepted(
          `budgets: { user_paths: [ { path: /a, limits: [ { period: daily, amount: ${text} } ] } ] }`,
        ),
        accepted(
          "budgets: { user_paths: [ { path: /a, limits: [ { period: daily, amount: '${AMOUNT}' } ] } ] }",
          { env: { AMOUNT: text } },
        ),
        accepted(null, { env: { SET_BUDGET_A: `daily=${text}` } }),
        accepted(null, { env: { SET_BUDGET_A: `[{"period":"daily","amount":${text}}]` } }),
      ];
      for (const { config } of sources)
        t.match(config.budgets.budgets, exactly([{ subject: "/a", amountUsd: amount }]), text);
    }
  },
);
