/** What is decided where the budgets have a say, and of submissions. */
import t from "tap";
import { type BudgetMatching, matchCopies } from "../../../limiterd/budgets/judge-budgets.js";
import { admit } from "../../../limiterd/rules/admit.js";
import { charge, hold } from "../../../limiterd/rules/charge.js";
import { judge } from "../../../limiterd/rules/judge.js";
import type { RuleBook } from "../../../limiterd/rules/rule-book.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { bookOf, now, rule } from "../book-of.js";
import { budget, client, spend, usd } from "../budgets/budget-fixture.js";
import { startDaemon } from "../in-memory-daemon.js";

const gpt: Target = { provider: "openai", model: "gpt-4o" };
const request = { userPath: "/team", targets: [gpt], submission: false };
const submission = { ...request, submission: true };
const minute = rule("user_path", "/team", 60, { requests: 1 });
const gauge = rule("user_path", "/team", 0, { requests: 1 });
const onModel = rule("model", "gpt-4o", 60, { requests: 1 });

/** The budgets of which a path has spent a dollar of so many. */
function spent(amountUsd: number, changes: Partial<BudgetMatching> = {}) {
  const daemon = startDaemon([], { nowMs: now, budgets: [budget("/team", 86_400, amountUsd)] });
  spend(client(daemon), "/team", usd);
  return { book: { ...matchCopies(daemon.state.budgets), ...changes }, labels: [] };
}

const full = (book: RuleBook, path: string): RuleBook => {
  charge(book, book.matchPath(path, now), { atMs: now, requests: 1, tokens: 0 }, now);
  return book;
};

t.test(
  "a budget is asked once the rules admit, and what it refuses is counted nowhere",
  async (t) => {
    const options = { nowMs: now, tokensEnforced: true };
    for (const submitted of [false, true]) {
      const asked = submitted ? submission : request;
      const verdictOf = (book: RuleBook, budgets: ReturnType<typeof spent> | null) =>
        admit(book, asked, { ...options, budgets });
      const book = bookOf(minute, gauge);
      const refused = verdictOf(book, spent(1));
      t.match(refused, {
        kind: "exceeded",
        breach: { dimension: "budget", subject: "/team", spentUsd: 1, amountUsd: 1 },
        headers: { requests: { limit: 1, remaining: 1 } },
      });
      for (const { own } of book.sorted())
        t.match(own, { inFlight: 0, window: { currentRequests: 0 } });
      t.match(
        verdictOf(book, spent(1, { hasNoRoom: () => true })),
        { kind: "refused", breach: { dimension: "children", subject: "/team" } },
        "a template that is full refuses as rules do",
      );
      t.match(
        verdictOf(full(bookOf(minute), "/team"), spent(1)),
        { kind: "refused", breach: { dimension: "requests" } },
        "where both refuse, the rule is reported",
      );
      t.match(verdictOf(bookOf(minute), spent(2)), { kind: "admitted", target: 0 });
      t.match(verdictOf(bookOf(minute), null), { kind: "admitted", target: 0 });
    }
  },
);

t.test("a submission meets the windows of its path, and neither gauges nor targets", async (t) => {
  const options = { nowMs: now, tokensEnforced: true };
  const book = full(bookOf(onModel, gauge, minute), "/other");
  hold(book.matchPath("/team", now));
  charge(book, book.matchTarget(gpt), { atMs: now, requests: 1, tokens: 0 }, now);
  const judged = judge(book, submission, options);
  t.match(judged, { kind: "admitted", target: 0 });
  t.same(
    judged.kind === "admitted" && judged.counters.map(({ rule }) => rule.definition.periodSeconds),
    [60],
  );
  t.match(judge(full(book, "/team"), submission, options), {
    kind: "refused",
    breach: { subject: "/team", dimension: "requests", waitSeconds: 61 },
  });
});
