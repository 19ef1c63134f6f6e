import t from "tap";
import { breachShownTo, isShown, viewerAt } from "../../../limiterd/rules/limits-above.js";
import { limitInWords, refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Breach, BudgetBreach } from "../../../shared/domain/verdict.js";

t.test("a limit is shown to the path that it is on, and to those above", (t) => {
  for (const [scope, subject, viewer, shown] of [
    ["user_path", "/team/a", "/team/a", true],
    ["user_path", "/team/a/b", "/team/a", true],
    ["user_path", "/team", "/team/a", false],
    ["user_path", "/", "/team/a", false],
    ["user_path", "/team/ab", "/team/a", false],
    ["model", "openai/gpt-4o", "/team/a", false],
    ["provider", "openai", "/team/a", false],
    ["label", "green", "/team/a", false],
    ["label", "green", null, true],
    ["user_path", "/", null, true],
  ] as const)
    t.equal(isShown({ scope, subject }, viewer), shown, `${scope} ${subject} to ${viewer}`);
  t.equal(viewerAt({ settings: { showsAncestors: true } }, "/team"), null);
  t.equal(viewerAt({ settings: { showsAncestors: false } }, "/team"), "/team");
  t.equal(viewerAt({ settings: { showsAncestors: false } }, "/"), null);
  t.end();
});

const rule: Breach = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  dimension: "requests",
  cap: 417,
  waitSeconds: 9,
};
const budget: BudgetBreach = {
  dimension: "budget",
  scope: "user_path",
  subject: "/team",
  periodSeconds: 86_400,
  spentUsd: 417,
  amountUsd: 417,
  waitSeconds: 9,
};

t.test("the breach of a limit above has its wait, and neither its name nor a figure", (t) => {
  const breaches: readonly (readonly [Breach | BudgetBreach, string])[] = [
    [rule, "rate limit exceeded: a limit above /team/a is reached"],
    [{ ...rule, dimension: "concurrent" }, "rate limit exceeded: a limit above /team/a is reached"],
    [{ ...rule, dimension: "children" }, "rate limit exceeded: a limit above /team/a is reached"],
    [{ ...rule, share: "x417" }, "rate limit exceeded: a limit above /team/a is reached"],
    [{ ...rule, dimension: "banned" }, "model not allowed: by a rule above /team/a"],
    [
      { ...rule, scope: "model", subject: "p/417", dimension: "adaptive" },
      "rate limit exceeded: a limit above /team/a is reached",
    ],
    [
      {
        ...rule,
        scope: "provider",
        subject: "openai/gpt-4o",
        dimension: "upstream",
        limitName: "requests_417",
      },
      "provider openai: its own rate limit for gpt-4o is reached",
    ],
    [budget, "budget exceeded: a budget above /team/a is used up"],
  ];
  for (const [breach, message] of breaches) {
    t.equal(breachShownTo(null, breach), breach);
    t.equal(
      breachShownTo("/team", { ...breach, scope: "user_path", subject: "/team" }).waitSeconds,
      9,
    );
    const shown = breachShownTo("/team/a", breach);
    t.equal(refusalMessage(shown), message);
    t.equal(shown.waitSeconds, 9);
    t.notMatch(JSON.stringify(shown) + limitInWords(shown), /417|"\/team"/);
  }
  t.equal(limitInWords(breachShownTo("/team/a", rule)), "a limit above /team/a");
  t.equal(limitInWords(breachShownTo("/team/a", budget)), "a budget above /team/a");
  t.end();
});
