/** What the dialogs of rules and budgets send, and what they say that saving does. */
import t from "tap";
import {
  budgetBody,
  budgetDraftOf,
  newBudget,
} from "../../../proxy/dashboard/web/logic/budget-draft.js";
import {
  exhaustedBody,
  exhaustedDraftOf,
  fieldOf,
  holdBody,
  isElsewhere,
  itemKey,
  keyBody,
  keyDraftOf,
  parseAmount,
  saveEffect,
} from "../../../proxy/dashboard/web/logic/limit-draft.js";
import { newRaise, raiseBody } from "../../../proxy/dashboard/web/logic/raise-draft.js";
import {
  backTestBody,
  beginsLater,
  dayBars,
  lowestCaps,
  newRule,
  refusedShare,
  ruleBody,
  ruleDraftOf,
  typedWords,
} from "../../../proxy/dashboard/web/logic/rule-draft.js";
import type { BudgetItem } from "../../../shared/api/budget-item.js";
import type { BackTestReport, RuleItem } from "../../../shared/api/rule-item.js";
import { parseShares, sharesOfText } from "../../../shared/domain/child-shares.js";
import { parseWhen, whenOfText } from "../../../shared/domain/rule-hours.js";
import { parseTokenWeights, weightsOfText } from "../../../shared/domain/token-weights.js";

const rule = {
  scope: "user_path",
  subject: "/team",
  period_label: "minute",
  period_seconds: 60,
  per_child: false,
  max_requests: 10,
} as RuleItem;
const draft = ruleDraftOf(rule);

t.test("what happens when a limit is exhausted, as edited", async (t) => {
  const drafts = [
    [{ onExhausted: "", useModel: "" }, undefined],
    [{ onExhausted: "warn", useModel: "" }, "warn"],
    [{ onExhausted: "use", useModel: "cheap" }, { use: "cheap" }],
  ] as const;
  for (const [draft, what] of drafts) {
    t.same(exhaustedDraftOf({ ...(what === undefined ? {} : { on_exhausted: what }) }), draft);
    t.same(exhaustedBody(draft, null), what === undefined ? {} : { on_exhausted: what });
  }
  const [[refuses]] = drafts;
  t.same(
    exhaustedBody(refuses, { on_exhausted: "warn" }),
    { on_exhausted: "refuse" },
    "taken back",
  );
  t.equal(fieldOf("on_exhausted.use"), "on_exhausted");
});

t.test("a shadow rule that is enforced replaces itself and keeps its counters", async (t) => {
  const original = {
    scope: "user_path",
    subject: "/team",
    period_label: "minute",
    period_seconds: 60,
    per_child: false,
    mode: "shadow",
  } as const;
  const draft = keyDraftOf(original, ["minute"]);
  t.equal(draft.shadow, true);
  t.match(keyBody(draft, "limit_key"), { mode: "shadow" });
  t.match(itemKey(original, "limit_key"), { mode: "shadow" });
  t.notOk(isElsewhere(draft, original));
  const enforced = { ...draft, shadow: false };
  t.ok(isElsewhere(enforced, original), "so the body names what it replaces");
  t.equal(saveEffect(enforced, original), "keeps");
  const { mode: _, ...other } = original;
  t.equal(saveEffect({ ...draft, shadow: true }, other), "moves", "an enforced one starts again");
});

t.test("other caps keep the counters; another subject, period or kind restarts them", async (t) => {
  t.equal(saveEffect(newRule("user_path", "/x"), null), "makes");
  for (const [change, effect] of [
    [{}, "keeps"],
    [{ maxRequests: "20" }, "keeps"],
    [{ subject: " team/ " }, "keeps"],
    [{ subject: "/team/app" }, "moves"],
    [{ period: "hour" }, "moves"],
    [{ period: "other", seconds: "60" }, "keeps"],
    [{ period: "other", seconds: "61" }, "moves"],
    [{ scope: "model" }, "moves"],
    [{ perChild: true }, "moves"],
  ] as const)
    t.equal(saveEffect({ ...draft, ...change }, rule), effect, JSON.stringify(change));
});

t.test("a move is one body, with what it replaces", async (t) => {
  t.same(ruleBody({ ...draft, subject: "/new", maxRequests: "1,000" }, rule), {
    ok: true,
    body: {
      scope: "user_path",
      subject: "/new",
      limit_key: { period: "minute" },
      max_requests: 1000,
      replaces: { scope: "user_path", subject: "/team", limit_key: { period_seconds: 60 } },
    },
  });
});

t.test("a rule becomes a template in place", async (t) => {
  const made = ruleBody({ ...draft, perChild: true }, rule);
  t.match(made, { ok: true, body: { per_child: true } });
  t.notMatch(made, { body: { replaces: {} } });
});

t.test("models are part of what a rule is, in any order and case", async (t) => {
  const forModels = { ...rule, models: ["claude-opus-*", "openai/*"] };
  const opened = ruleDraftOf(forModels);
  t.equal(opened.models, "claude-opus-*, openai/*");
  t.equal(saveEffect({ ...opened, models: "OpenAI/*,claude-opus-*" }, forModels), "keeps");
  const moved = { ...opened, models: "gpt-4o" };
  t.equal(saveEffect(moved, forModels), "moves");
  const { body } = ruleBody(moved, forModels) as { body: Record<string, unknown> };
  t.same(body["models"], ["gpt-4o"]);
  t.match(body["replaces"], { models: forModels.models });
  const all = ruleBody({ ...opened, models: " , " }, forModels) as { body: object };
  t.notOk("models" in all.body);
  t.notOk("models" in (ruleBody({ ...opened, scope: "model" }, null) as { body: object }).body);
  t.equal(fieldOf("models[0]"), "models");
});

t.test("a rule of each host is written as it was opened, and its counters go on", async (t) => {
  const opened = ruleDraftOf({ ...rule, host_only: true });
  t.equal(saveEffect(opened, rule), "keeps");
  t.match(ruleBody(opened, rule), { ok: true, body: { host_only: true } });
  t.notOk("host_only" in (ruleBody({ ...opened, hostOnly: false }, rule) as { body: object }).body);
});

t.test("a gauge has no token cap, and what isn't a number is named", async (t) => {
  const gauge = ruleBody({ ...draft, period: "concurrent", maxTokens: "7" }, null);
  t.same(gauge, {
    ok: true,
    body: {
      scope: "user_path",
      subject: "/team",
      limit_key: { period: "concurrent" },
      max_requests: 10,
    },
  });
  t.same(ruleBody({ ...draft, maxTokens: "many" }, null), { ok: false, field: "max_tokens" });
});

t.test("a text of several values that isn't understood is named, not sent", async (t) => {
  const onAgents = { ...draft, period: "concurrent" };
  for (const [field, wrong] of [
    ["when", { ...draft, when: "in the office hours" }],
    ["token_weights", { ...draft, tokenWeights: "cached tenfold" }],
    ["shares", { ...draft, shares: "fair" }],
    ["shares", { ...draft, shares: '{"children":' }],
    ["loops", { ...onAgents, loops: "never" }],
  ] as const)
    t.same(ruleBody(wrong, null), { ok: false, field }, field);
});

t.test(
  "what the gateway says about a part of such a text is in the words of the text",
  async (t) => {
    for (const [checked, words] of [
      [
        parseShares(sharesOfText("a: weight=0"), "shares"),
        "a: weight must be a number from 0.001 to 1000, not 0",
      ],
      [
        parseShares(sharesOfText("a: share=1"), "shares"),
        "unknown field a: share: expected weight, floor, priority",
      ],
      [
        parseWhen(whenOfText("mon 09:00-25:00"), "when"),
        'to must be a time such as 17:30 or 24:00, not "25:00"',
      ],
      [parseWhen(whenOfText("UTC"), "when"), "it covers the whole week: leave it out"],
      [
        parseTokenWeights(weightsOfText("cached=5000"), "token_weights"),
        "cached must be a number from 0 to 100, not 5000",
      ],
    ] as const)
      t.equal(checked.ok || typedWords(checked.failure.message), words);
  },
);

t.test("for whom a limit counts must be typed, also the path of all traffic", async (t) => {
  const ofBudget = { ...newBudget("user_path"), amount: "5" };
  for (const scope of ["user_path", "provider"])
    for (const subject of ["", "  "]) {
      const nothing = { ok: false, field: "subject" };
      t.same(ruleBody({ ...draft, scope, subject }, null), nothing);
      t.same(budgetBody({ ...ofBudget, scope, subject }, null), nothing);
      t.same(ruleBody({ ...draft, scope, subject }, rule), nothing, "nor is a limit moved to /");
    }
  t.match(ruleBody({ ...draft, subject: " / " }, null), { body: { subject: "/" } });
  t.match(budgetBody({ ...ofBudget, subject: "/" }, null), { body: { subject: "/" } });
  const raise = newRaise(rule);
  t.match(raiseBody(rule, raise, "limit_key"), { ok: true, body: { subject: "/team" } });
  const nothing = { ok: false, field: "subject" };
  t.same(raiseBody(rule, { ...raise, subject: " " }, "limit_key"), nothing);
});

t.test("what a budget carries over is a percentage", async (t) => {
  const opened = { ...newBudget("user_path"), subject: "/a", amount: "5" };
  for (const [rollover, share] of [
    ["50", 0.5],
    [" 12.5 % ", 0.125],
    ["0", 0],
    ["100", 1],
    ["", null],
  ] as const)
    t.match(budgetBody({ ...opened, rollover }, null), { ok: true, body: { rollover: share } });
  for (const rollover of ["150", "-5", "half", "%"])
    t.same(budgetBody({ ...opened, rollover }, null), { ok: false, field: "rollover" }, rollover);
});

t.test("a period without a name is sent in seconds, as it is written", async (t) => {
  const own = ruleDraftOf({ ...rule, period_label: "900s", period_seconds: 900 });
  t.match(own, { period: "other", seconds: "900" });
  t.match(ruleBody(own, null), { body: { limit_key: { period: "900" } } });
});

t.test("a budget's amount is a number of dollars", async (t) => {
  const budget = {
    ...rule,
    period_label: "daily",
    period_seconds: 86_400,
    amount: 12.5,
  } as unknown as BudgetItem;
  t.match(budgetDraftOf(budget), { amount: "12.5", period: "daily" });
  t.same(budgetBody({ ...newBudget("label"), subject: "green" }, null), {
    ok: false,
    field: "amount",
  });
  t.match(budgetBody(budgetDraftOf(budget), budget), { body: { unpriced: null } });
  t.match(budgetBody({ ...budgetDraftOf(budget), unpriced: "allow" }, budget), {
    body: { unpriced: "allow" },
  });
  t.match(budgetDraftOf({ ...budget, unpriced: "refuse" }), { unpriced: "refuse" });
  const moved = budgetBody(
    { ...budgetDraftOf(budget), period: "weekly", amount: "$1,500.50" },
    budget,
  );
  t.match(moved, {
    body: {
      amount: 1500.5,
      budget_key: { period: "weekly" },
      replaces: { budget_key: { period_seconds: 86_400 } },
    },
  });
});

t.test("numbers may be written as people write them", async (t) => {
  for (const [text, value] of [
    ["1 000", 1000],
    ["1_000", 1000],
    ["0.5", 0.5],
    [".5", 0.5],
    ["", null],
    ["1e9", null],
    ["-1", null],
    ["1.2.3", null],
  ] as const)
    t.equal(parseAmount(text), value, text);
});

t.test("an error of the gateway finds its field", async (t) => {
  for (const [param, field] of [
    ["user_path", "subject"],
    ["subject", "subject"],
    ["limit_key.period", "period"],
    ["budget_key.period_seconds", "period"],
    ["max_tokens", "max_tokens"],
    ["replaces.subject", null],
    [null, null],
  ] as const)
    t.equal(fieldOf(param), field, String(param));
});

const report: BackTestReport = {
  start: "2026-03-03T12:00:00.000Z",
  end: "2026-03-05T12:00:00.000Z",
  oldest_record_at: "2026-03-01T00:00:00.000Z",
  requests: 1280,
  refused: 31,
  refused_for: { requests: 31, tokens: 0, concurrent: 0, children: 0, banned: 0 },
  first_refused_at: "2026-03-04T09:00:01.500Z",
  last_refused_at: "2026-03-04T17:10:00.000Z",
  days: [
    { date: "2026-03-03", requests: 280, refused: 0 },
    { date: "2026-03-05", requests: 1000, refused: 31 },
  ],
  paths: [],
  lowest_caps: { max_requests: 1087 },
  late: 0,
  progress: 1,
  next: null,
  server_time: "2026-03-05T12:00:00.000Z",
};

t.test("the share of what is refused is never called nothing", async (t) => {
  for (const [requests, refused, expected] of [
    [1280, 31, "2.4%"],
    [10_000, 1, "<0.1%"],
    [10, 0, "0.0%"],
    [0, 0, "0.0%"],
    [3, 2, "67%"],
  ] as const)
    t.equal(refusedShare({ ...report, requests, refused }), expected);
});

t.test("each day of the range has a bar", async (t) => {
  t.same(dayBars(report), [
    { date: "2026-03-03", requests: 280, refused: 0, height: 0.28, refusedHeight: 0 },
    { date: "2026-03-04", requests: 0, refused: 0, height: 0, refusedHeight: 0 },
    { date: "2026-03-05", requests: 1000, refused: 31, height: 1, refusedHeight: 0.031 },
  ]);
});

t.test("the lowest caps are those that the rule has", async (t) => {
  const words = {
    requests: "requests",
    tokens: "tokens",
    input_tokens: "input tokens",
    output_tokens: "output tokens",
    tool_calls: "tool calls",
  };
  t.equal(lowestCaps(report, words), "1,087 requests");
  const both = { max_requests: 2, max_tokens: 1001 };
  t.equal(lowestCaps({ ...report, lowest_caps: both }, words), "2 requests, 1,001 tokens");
  t.equal(lowestCaps({ ...report, lowest_caps: {} }, words), null);
  const measures = { max_input_tokens: 7, max_output_tokens: 1200, max_cost: 2.5 };
  t.equal(
    lowestCaps({ ...report, lowest_caps: measures }, words),
    "7 input tokens, 1,200 output tokens, $2.50",
  );
  for (const [cost, cap] of [
    [8.064_441_331_168, "$8.07"],
    [0.042_1, "$0.043"],
    [0.000_123, "$0.00013"],
  ] as const)
    t.equal(
      lowestCaps({ ...report, lowest_caps: { max_cost: cost } }, words),
      cap,
      "rounded up: a lower one would refuse",
    );
});

t.test("it is known whether the records reach back far enough", async (t) => {
  t.equal(beginsLater(report), false);
  t.equal(beginsLater({ ...report, oldest_record_at: "2026-03-04T00:00:00.000Z" }), true);
  t.equal(beginsLater({ ...report, oldest_record_at: null }), true);
});

t.test("a rule that is tested takes no other's place", async (t) => {
  t.same(backTestBody({ subject: "/a", replaces: { subject: "/b" } }), { subject: "/a" });
});

t.test("a hard cap stays one, and is made one or soft by a save that says so", async (t) => {
  const soft = { scope: "user_path", subject: "/a", period: "day", seconds: "", perChild: false };
  t.same(holdBody(soft, null), {});
  t.same(holdBody({ ...soft, hard: true }, null), { hold: "hard" });
  t.same(holdBody(soft, { hold: "hard" }), { hold: "soft" });
  t.same(holdBody({ ...soft, hard: true }, { hold: "hard" }), { hold: "hard" });
});

t.test("what makes a deleted limit again has all of its definition", async (t) => {
  const written = {
    scope: "user_path",
    subject: "/team",
    per_child: true,
    models: ["gpt-5.4", "claude-*"],
    when: { days: ["mon", "fri"], from: "09:00", to: "17:00", time_zone: "Europe/Berlin" },
    max_requests: 10,
    max_tokens: 1_000,
    max_input_tokens: 900,
    max_output_tokens: 800,
    max_cost: 1.000_001,
    max_tool_calls: 7,
    token_weights: { cached: 0.1 },
    host_only: true,
  };
  const listed = { ...written, period_label: "300s", period_seconds: 300 } as unknown as RuleItem;
  const made = ruleBody(ruleDraftOf(listed), null);
  const { when, limit_key, token_weights, ...body } = made.ok ? made.body : {};
  const { when: hours, token_weights: weights, ...rest } = written;
  t.same(body, rest);
  t.same(limit_key, { period: "300" });
  t.same(when, hours);
  t.same(token_weights, weights);
  const slots = { max_requests: 10, max_enqueued_tokens: 8, period_label: "concurrent" };
  const onBatches = { ...listed, ...slots, period_seconds: 0 } as RuleItem;
  t.match(ruleBody(ruleDraftOf(onBatches), null), { body: { max_enqueued_tokens: 8 } });
  const loops = {
    ...{ warn_after: 3, refuse_after: 9, compare_results: false },
    ...{ warn_after_turns: 0, refuse_after_turns: 70 },
  };
  const ofAgents = { ...onBatches, loops };
  t.match(ruleBody(ruleDraftOf(ofAgents), null), { body: { loops } });
  const emptied = ruleBody({ ...ruleDraftOf(ofAgents), loops: " " }, ofAgents);
  t.match(emptied, { body: { loops: null } });
  const ofProvider = ruleBody(ruleDraftOf({ ...onBatches, scope: "provider" }), null);
  t.equal(ofProvider.ok && ofProvider.body["max_enqueued_tokens"], undefined);
  const shares = { a: { weight: 3 }, "*": { weight: 1 } };
  for (const more of [{ hold: "hard" }, { on_exhausted: { use: "cheap" } }, { shares }]) {
    const again = ruleBody(ruleDraftOf({ ...rule, ...more } as RuleItem), null);
    t.ok(again.ok && Object.keys(more).every((field) => again.body[field] !== undefined));
  }
});
