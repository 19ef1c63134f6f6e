import t from "tap";
import {
  parseBudgetRaise,
  parseRuleRaise,
  type Raise,
  raisedAmount,
  raisedCaps,
  raisesFromStored,
  raisesToStored,
} from "../../../shared/domain/raise.js";

const raise: Raise = {
  child: "",
  fromMs: 1000,
  untilMs: 5000,
  maxRequests: 20,
  maxTokens: null,
  amountUsd: null,
  by: "ann",
  reason: "launch",
};

t.test("worked cases of caps", (t) => {
  const caps = { maxRequests: 10, maxTokens: 100 };
  const ann = { ...raise, child: "ann", maxRequests: 30, maxTokens: 500 };
  const table: readonly (readonly [
    raises: readonly Raise[],
    child: string,
    nowMs: number,
    requests: number | null,
    tokens: number | null,
  ])[] = [
    [[], "", 2000, 10, 100],
    [[raise], "", 4999, 20, 100],
    [[raise], "", 5000, 10, 100],
    [[raise], "bob", 2000, 20, 100],
    [[ann], "bob", 2000, 10, 100],
    [[ann], "ann", 2000, 30, 500],
    [[raise, ann], "ann", 2000, 30, 500],
    [[raise, { ...ann, maxRequests: 15 }], "ann", 2000, 20, 500],
    [[{ ...raise, maxRequests: 5 }], "", 2000, 10, 100],
  ];
  for (const [raises, child, nowMs, maxRequests, maxTokens] of table)
    t.same(raisedCaps(caps, raises, child, nowMs), { maxRequests, maxTokens });
  t.same(raisedCaps({ maxRequests: null, maxTokens: 1 }, [raise], "", 2000), {
    maxRequests: null,
    maxTokens: 1,
  });
  const dollars = { ...raise, amountUsd: 7.5 };
  t.equal(raisedAmount(5, [dollars], "", 4999), 7.5);
  t.equal(raisedAmount(5, [dollars], "", 5000), 5);
  t.equal(raisedAmount(9, [dollars], "", 2000), 9);
  t.end();
});

t.test("the stored form", (t) => {
  const raises = [
    raise,
    { ...raise, child: "ann", maxRequests: null, amountUsd: 0.5 },
    { ...raise, measureCaps: { input_tokens: 7, cost: 0.5 } },
  ];
  t.same(raisesFromStored(raisesToStored(raises)), raises);
  const [stored] = raisesToStored([raise]) as [unknown[]];
  for (const [place, wrong] of [
    [0, 1],
    [1, -1],
    [2, "x"],
    [3, 0],
    [4, 1.5],
    [5, 0],
    [6, null],
    [7, 2],
  ] as const)
    t.equal(raisesFromStored([stored.with(place, wrong)]), null, `element ${place}`);
  for (const wrong of [7, { cost: -1 }, { tool_calls: 1.5 }])
    t.equal(raisesFromStored([[...stored, wrong]]), null, JSON.stringify(wrong));
  t.equal(raisesFromStored(["x"]), null);
  t.end();
});

t.test("bodies", (t) => {
  const body = {
    user_path: "/team",
    limit_key: { period: "minute" },
    max_requests: 9,
    for_seconds: 60,
  };
  t.match(parseRuleRaise({ ...body, reason: " launch " }), {
    ok: true,
    value: { reason: "launch", by: "an administrator", forMs: 60_000, key: { subject: "/team" } },
  });
  const wrong: readonly (readonly [object, string])[] = [
    [{ reason: "x".repeat(257) }, "reason"],
    [{ reason: "a\nb" }, "reason"],
    [{ reason: "x", by: 7 }, "by"],
    [{ reason: "x", for_seconds: 2_678_401 }, "for_seconds"],
    [{ reason: "x", for_seconds: 1.5 }, "for_seconds"],
    [{ reason: "x", max_requests: 0 }, "max_requests"],
    [{ reason: "x", amount: 1 }, "amount"],
    [{ reason: "x", limit_key: { period: "x" } }, "limit_key.period"],
    [{ reason: "x", period: "day" }, "period"],
  ];
  for (const [fields, param] of wrong)
    t.match(parseRuleRaise({ ...body, ...fields }), { ok: false, failure: { param } });
  t.match(parseRuleRaise(7), { ok: false, failure: { param: "body" } });
  t.match(parseRuleRaise({ ...body, loops: {} }), {
    failure: {
      message: /^unknown field loops: expected user_path, .*max_requests, .*for_seconds,/,
    },
  });
  const dollars = {
    user_path: "/team",
    budget_key: { period: "daily" },
    for_seconds: 60,
    reason: "x",
  };
  t.match(parseBudgetRaise({ ...dollars, amount: 5 }), { ok: true, value: { amountUsd: 5 } });
  t.match(parseBudgetRaise(dollars), { ok: false, failure: { param: "amount" } });
  t.end();
});
