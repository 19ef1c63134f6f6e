/** Any sets of rules and of budgets, whose names hold whatever names may hold. */
import fc, { type Arbitrary } from "fast-check";
import {
  type BudgetDefinition,
  budgetId,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { parseRuleWrite, type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";

const odd = [
  "no",
  "null",
  "~",
  "1e3",
  "- a",
  "a: b",
  "# c",
  "'",
  '"',
  "\\",
  "${X}",
  "$${X}",
  "é",
  "\u202e",
  "\ufeff",
  "😀",
  "{}",
  "[a]",
  "&a",
  "*a",
  "!a",
  "%",
  "@",
  "`",
  "$$",
  " x ",
  "a\tb",
];
const name = fc.oneof(
  fc.constantFrom(...odd),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
  fc.constantFrom("team", "app", "openai", "gpt-4o"),
);
/** As shells write one, which a file must not take for a variable. */
const shellVariable = fc.constantFrom("$TEAM", "$MY_TEAM", "$$MY_TEAM", "$$$A_B", "$");
const path = fc.array(name, { maxLength: 3 }).map((names) => `/${names.join("/")}`);
const cap = fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { nil: undefined });
const period = fc.oneof(
  fc.constantFrom({ period: "minute" }, { period: "concurrent" }, { period: "day" }),
  fc.record({ period_seconds: fc.integer({ min: 1, max: 100_000 }) }),
);

const entitled = { perChildEntitled: true };

/** Those that are right: what is wrong is left out. */
export const anyRules: Arbitrary<readonly RuleDefinition[]> = setOf(
  fc.record({
    scope: fc.constantFrom("user_path", "provider", "model"),
    subject: fc.oneof(path, name, shellVariable),
    limit_key: period,
    max_requests: cap,
    max_tokens: cap,
    per_child: fc.boolean(),
    host_only: fc.boolean(),
    loops: fc.constantFrom(
      ...[undefined, {}, { refuse_after: 9, compare_results: false }],
      ...[{ warn_after_turns: 0 }, { warn_after: 0, refuse_after_turns: 77 }],
    ),
    models: fc.constantFrom(undefined, ["gpt-*"], ["*", "!openai/gpt-4o"], ["a${b}", "$c"]),
  }),
  (body) => {
    const parsed = parseRuleWrite(body, entitled);
    return parsed.ok ? parsed.value : null;
  },
  ruleId,
);

export const anyBudgets: Arbitrary<readonly BudgetDefinition[]> = setOf(
  fc.record({
    scope: fc.constantFrom("user_path", "label"),
    subject: fc.oneof(path, name, shellVariable),
    budget_key: fc.constantFrom({ period: "daily" }, { period: "monthly" }, { period_seconds: 77 }),
    unpriced: fc.constantFrom(undefined, "allow", "refuse"),
    models: fc.constantFrom(undefined, ["gpt-*"], ["*", "!openai/gpt-4o"], ["a${b}", "$c"]),
    amount: fc.oneof(
      fc.double({ min: 1e-12, max: 1e15, noNaN: true }),
      fc.constantFrom(1e-12, 1e15, 20, 0.1),
    ),
    per_child: fc.boolean(),
  }),
  (body) => {
    const parsed = parseBudgetWrite(body, entitled);
    return parsed.ok ? parsed.value : null;
  },
  budgetId,
);

function setOf<Body, Limit>(
  bodies: Arbitrary<Body>,
  parse: (body: Body) => Limit | null,
  idOf: (limit: Limit) => string,
): Arbitrary<readonly Limit[]> {
  return fc.array(bodies, { maxLength: 12 }).map((all) => {
    const limits = all.flatMap((body) => parse(body) ?? []);
    return [...new Map(limits.map((limit) => [idOf(limit), limit])).values()];
  });
}
