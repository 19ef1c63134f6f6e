import t from "tap";
import {
  amountSum,
  budgetName,
  budgetPeriodLabel,
  compareBudgets,
  parseBudgetKey,
  parseBudgetResetOne,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { compareSums } from "../../../shared/domain/money.js";
import {
  anchorFields,
  anchorsFromStored,
  anchorsToStored,
  defaultAnchors,
  parseAnchors,
} from "../../../shared/domain/reset-anchors.js";

const entitled = { perChildEntitled: true };
const write = { scope: "user_path", subject: "/team", budget_key: { period: "daily" }, amount: 10 };

t.test("a budget's body is read in every form that the contract gives it", async (t) => {
  const team = {
    scope: "user_path",
    subject: "/team",
    periodSeconds: 86_400,
    amountUsd: 10,
    perChild: false,
  };
  const table: readonly (readonly [object, object])[] = [
    [write, team],
    [{ user_path: "team/", budget_key: { period: " DAY " }, amount: 10 }, team],
    [
      {
        scope: " USER_PATH ",
        subject: "/team",
        user_path: "/other",
        budget_key: { period_seconds: 86_400 },
        amount: 10,
      },
      team,
    ],
    [
      { budget_key: { period: "days" }, amount: 10 },
      { ...team, subject: "/" },
    ],
    [
      {
        scope: "",
        subject: null,
        user_path: "/team",
        budget_key: { period: "86400" },
        amount: 10,
        per_child: true,
      },
      { ...team, perChild: true },
    ],
    [
      { scope: "Label", subject: " Research ", budget_key: { period: "monthly" }, amount: 0.5 },
      {
        scope: "label",
        subject: "Research",
        periodSeconds: 2_592_000,
        amountUsd: 0.5,
        perChild: false,
      },
    ],
    [
      { ...write, budget_key: { period: "2592000" } },
      { ...team, periodSeconds: 2_592_000 },
    ],
    [
      { ...write, budget_key: { period: "weeks" } },
      { ...team, periodSeconds: 604_800 },
    ],
    [
      { ...write, budget_key: { period_seconds: 1 } },
      { ...team, periodSeconds: 1 },
    ],
    [
      { ...write, amount: 1e-12 },
      { ...team, amountUsd: 1e-12 },
    ],
  ];
  for (const [body, expected] of table)
    t.same(parseBudgetWrite(body, entitled), { ok: true, value: expected }, JSON.stringify(body));
});

t.test("what is wrong is refused by its name, with the value and what was expected", async (t) => {
  const table: readonly (readonly [unknown, param: string, message: string])[] = [
    [[], "body", "the body must be a JSON object, not []"],
    [{ ...write, ammount: 3 }, "ammount", "unknown field ammount: did you mean amount?"],
    [{ ...write, unpriced: "no" }, "unpriced", 'unpriced must be allow or refuse, not "no"'],
    [{ ...write, unpriced: true }, "unpriced", "unpriced must be allow or refuse, not true"],
    [
      { ...write, scope: "team" },
      "scope",
      'scope must be user_path, label, provider or model, not "team"',
    ],
    [{ ...write, scope: 3 }, "scope", "scope must be user_path, label, provider or model, not 3"],
    [
      { ...write, subject: "/a/../b" },
      "subject",
      'subject must not hold the segment .., as "/a/../b" does',
    ],
    [
      { ...write, scope: "label", subject: "" },
      "subject",
      "subject is required for the scope label",
    ],
    [
      { ...write, scope: "label", subject: "x", user_path: "/team" },
      "user_path",
      "user_path can't be combined with the scope label: use subject",
    ],
    [
      { ...write, scope: "label", subject: "a\u0007" },
      "subject",
      "subject must not hold control characters",
    ],
    [
      { ...write, scope: "label", subject: "x".repeat(513) },
      "subject",
      "subject must be at most 512 bytes",
    ],
    [
      { ...write, budget_key: undefined },
      "budget_key",
      "budget_key is required: an object with period or period_seconds",
    ],
    [
      { ...write, budget_key: {} },
      "budget_key.period",
      "budget_key.period or budget_key.period_seconds is required",
    ],
    [
      { ...write, budget_key: { period: "daily", period_seconds: 86_400 } },
      "budget_key.period",
      "budget_key.period and budget_key.period_seconds exclude each other: give exactly one",
    ],
    [
      { ...write, budget_key: { period: "minute" } },
      "budget_key.period",
      'budget_key.period must be hourly, daily, weekly, monthly, quarterly, yearly, session or a number of seconds, not "minute"',
    ],
    [
      { ...write, budget_key: { period: "99999999999" } },
      "budget_key.period",
      "budget_key.period must be an integer from 0 (session) to 3153600000, not 99999999999",
    ],
    [
      { ...write, budget_key: { period_seconds: -1 } },
      "budget_key.period_seconds",
      "budget_key.period_seconds must be an integer from 0 (session) to 3153600000, not -1",
    ],
    [
      { ...write, budget_key: { period_seconds: 1.5 } },
      "budget_key.period_seconds",
      "budget_key.period_seconds must be an integer from 0 (session) to 3153600000, not 1.5",
    ],
    [
      { ...write, budget_key: { periode: "daily" } },
      "budget_key.periode",
      "unknown field budget_key.periode: did you mean budget_key.period?",
    ],
    [{ ...write, amount: undefined }, "amount", "amount is required: US dollars, greater than 0"],
    [
      { ...write, amount: 0 },
      "amount",
      "amount must be a finite number of US dollars greater than 0, not 0",
    ],
    [
      { ...write, amount: -1 },
      "amount",
      "amount must be a finite number of US dollars greater than 0, not -1",
    ],
    [
      { ...write, amount: "10" },
      "amount",
      'amount must be a finite number of US dollars greater than 0, not "10"',
    ],
    [
      { ...write, amount: Infinity },
      "amount",
      "amount must be a finite number of US dollars greater than 0, not Infinity",
    ],
    [
      { ...write, amount: 1e-20 },
      "amount",
      "amount must be at least 1e-12 US dollars, a pico-dollar, which is the smallest amount that is counted, not 1e-20",
    ],
    [
      { ...write, amount: 9.99e-13 },
      "amount",
      "amount must be at least 1e-12 US dollars, a pico-dollar, which is the smallest amount that is counted, not 9.99e-13",
    ],
    [
      { ...write, amount: 1.1e15 },
      "amount",
      "amount must be at most 1000000000000000 US dollars, not 1100000000000000",
    ],
    [
      { ...write, amount: Number.MAX_VALUE },
      "amount",
      "amount must be at most 1000000000000000 US dollars, not 1.7976931348623157e+308",
    ],
    [
      { ...write, amount: NaN },
      "amount",
      "amount must be a finite number of US dollars greater than 0, not NaN",
    ],
    [
      { ...write, budget_key: { period_seconds: -Infinity } },
      "budget_key.period_seconds",
      "budget_key.period_seconds must be an integer from 0 (session) to 3153600000, not -Infinity",
    ],
    [
      { ...write, scope: "label", subject: "x", budget_key: { period: "session" } },
      "budget_key",
      "budget_key.period session is for user-path budgets only",
    ],
    [
      { ...write, budget_key: { period: "session" }, rolling: true },
      "rolling",
      "rolling can't be combined with the period session: what a session has spent counts for 7 days",
    ],
    [{ ...write, per_child: "yes" }, "per_child", 'per_child must be true or false, not "yes"'],
    [
      { ...write, scope: "label", subject: "x", per_child: true },
      "per_child",
      "per_child is for user-path budgets only",
    ],
  ];
  for (const [body, param, message] of table) {
    const checked = parseBudgetWrite(body, entitled);
    t.same(
      checked.ok
        ? checked
        : {
            param: checked.failure.param,
            message: checked.failure.message,
            status: checked.failure.status,
          },
      { param, message, status: 400 },
      message,
    );
  }
  const refused = parseBudgetWrite({ ...write, per_child: true }, { perChildEntitled: false });
  t.match(refused, {
    ok: false,
    failure: { status: 403, code: "quota_templates_not_entitled", param: "per_child" },
  });
});

t.test("delete and reset-one name a budget by its key", async (t) => {
  const key = { scope: "label", subject: "Research", periodSeconds: 3600 };
  t.same(parseBudgetKey({ scope: "label", subject: "Research", budget_key: { period: "hour" } }), {
    ok: true,
    value: key,
  });
  t.match(
    parseBudgetKey({ ...write }),
    { ok: false, failure: { param: "amount" } },
    "an amount has no place there",
  );
  t.same(parseBudgetResetOne({ scope: "label", subject: "Research", period: "hourly" }), {
    ok: true,
    value: key,
  });
  t.same(parseBudgetResetOne({ scope: "label", subject: "Research", period_seconds: 3600 }), {
    ok: true,
    value: key,
  });
  t.same(
    parseBudgetResetOne({ scope: "label", subject: "Research", budget_key: { period: "hourly" } }),
    { ok: true, value: key },
  );
  t.match(parseBudgetResetOne({ period: "hourly", budget_key: { period: "hourly" } }), {
    ok: false,
    failure: { param: "budget_key" },
  });
});

t.test("periods have labels, and budgets an order", async (t) => {
  t.same(
    [3600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000, 300].map((seconds) =>
      budgetPeriodLabel(seconds),
    ),
    ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "300s"],
  );
  t.equal(budgetPeriodLabel(2_592_000, true), "rolling 30d");
  const keys = [
    ["user_path", "/b", 60],
    ["label", "x", 60],
    ["user_path", "/a/b", 60],
    ["user_path", "/a", 3600],
    ["user_path", "/a", 60],
  ] as const;
  const sorted = keys
    .map(([scope, subject, periodSeconds]) => ({ scope, subject, periodSeconds }))
    .sort(compareBudgets);
  t.same(
    sorted.map(({ subject, periodSeconds }) => `${subject} ${periodSeconds}`),
    ["x 60", "/a 60", "/a 3600", "/a/b 60", "/b 60"],
  );
});

t.test(
  "an amount is compared exactly, and none is so small that nothing would reach it",
  async (t) => {
    t.same(amountSum(0.1), { microUsd: 100_000, picoUsd: 0 });
    t.same(amountSum(1e-9), { microUsd: 0, picoUsd: 1000 });
    t.same(amountSum(Number.MIN_VALUE), { microUsd: 0, picoUsd: 1 });
    t.same(amountSum(9_000.25), { microUsd: 9_000_250_000, picoUsd: 0 });
    t.ok(compareSums(amountSum(Number.MAX_VALUE), amountSum(1e9)) > 0);
    t.same(amountSum(Number.MAX_VALUE), { microUsd: Number.MAX_SAFE_INTEGER, picoUsd: 0 });
  },
);

t.test("anchors: a field that isn't given stays, a wrong one is refused by its name", async (t) => {
  const standing = { ...defaultAnchors, daily_reset_hour: 6 };
  t.same(parseAnchors({ monthly_reset_day: 31 }, standing), {
    ok: true,
    value: { ...standing, monthly_reset_day: 31 },
  });
  t.same(parseAnchors({}, standing), { ok: true, value: standing });
  const table: readonly (readonly [object, string, string])[] = [
    [
      { daily_reset_hour: 24 },
      "daily_reset_hour",
      "daily_reset_hour must be an integer from 0 to 23, not 24",
    ],
    [
      { monthly_reset_day: 0 },
      "monthly_reset_day",
      "monthly_reset_day must be an integer from 1 to 31, not 0",
    ],
    [
      { weekly_reset_weekday: "monday" },
      "weekly_reset_weekday",
      'weekly_reset_weekday must be an integer from 0 to 6, not "monday"',
    ],
    [
      { weekly_reset_minute: 1.5 },
      "weekly_reset_minute",
      "weekly_reset_minute must be an integer from 0 to 59, not 1.5",
    ],
  ];
  for (const [body, param, message] of table)
    t.match(parseAnchors(body, standing), { ok: false, failure: { status: 400, param, message } });
  t.match(parseAnchors({ daily_reset: 3 }, standing), {
    ok: false,
    failure: { param: "daily_reset" },
  });
  t.same(anchorsFromStored(anchorsToStored(standing)), standing);
  t.equal(anchorsFromStored([0, 0, 9, 0, 0, 1, 0, 0]), null);
  t.equal(anchorsFromStored([0]), null);
  const [lowest, highest] = [
    anchorFields.map(({ min }) => min),
    anchorFields.map(({ max }) => max),
  ];
  for (const values of [lowest, highest]) {
    t.same(anchorsToStored(anchorsFromStored(values)!), values);
    t.same(anchorsFromStored([...values, 0]), null);
  }
  for (const [i, { name, min, max }] of anchorFields.entries()) {
    for (const wrong of [min - 1, max + 1, min + 0.5, String(min), null]) {
      t.equal(anchorsFromStored(lowest.with(i, wrong as number)), null, `${name} ${wrong}`);
      if (wrong !== null)
        t.match(parseAnchors({ [name]: wrong }, standing), { failure: { param: name } });
    }
    for (const value of [min, max])
      t.same(parseAnchors({ [name]: value }, standing), {
        ok: true,
        value: { ...standing, [name]: value },
      });
  }
});

t.test("each anchor has its bounds", async (t) => {
  t.same(
    anchorFields.map(({ name, min, max, fallback }) => `${name} ${min}-${max} ${fallback}`),
    [
      "daily_reset_hour 0-23 0",
      "daily_reset_minute 0-59 0",
      "weekly_reset_weekday 0-6 1",
      "weekly_reset_hour 0-23 0",
      "weekly_reset_minute 0-59 0",
      "monthly_reset_day 1-31 1",
      "monthly_reset_hour 0-23 0",
      "monthly_reset_minute 0-59 0",
    ],
  );
});

t.test("a budget is named by its subject and period, and one on a label as such", async (t) => {
  const key = { subject: "research", periodSeconds: 86_400 };
  t.equal(budgetName({ scope: "label", ...key }), "label research daily");
  t.equal(budgetName({ scope: "user_path", ...key, subject: "/team" }), "/team daily");
});
