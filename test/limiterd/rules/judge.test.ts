/** What is decided where the budgets have a say, and of submissions. */
import t from "tap";
import { type BudgetMatching, matchCopies } from "../../../limiterd/budgets/judge-budgets.js";
import { admit } from "../../../limiterd/rules/admit.js";
import { charge } from "../../../limiterd/rules/charge.js";
import {
  breachOf,
  judge,
  longerBreach,
  longestBreach,
  shorterBreach,
} from "../../../limiterd/rules/judge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { takeSlots } from "../../../limiterd/rules/slots.js";
import { secondsToSweepAll } from "../../../shared/bounds.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { bookOf, matchKept, now, rule, ruleWith } from "../book-of.js";
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
  takeSlots(book.matchPath("/team", now));
  charge(book, book.matchTarget(gpt, "/", now), { atMs: now, requests: 1, tokens: 0 }, now);
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

/** The beginning of an hour, and of a minute. */
const options = { nowMs: now, tokensEnforced: true };

function bookWith(childrenMax: number, ...rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook([1, 2], undefined, childrenMax);
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: now, lsn: 1 });
  return book;
}

/** What would refuse a request, after so much was counted on the path. */
function refusal(
  book: RuleBook,
  { path = "/t", requests = 0, tokens = 0, tokensEnforced = true } = {},
): unknown {
  charge(book, matchKept(book, path, now), { atMs: now, requests, tokens }, now);
  const found = breachOf(book.matchPath(path, now), { ...options, tokensEnforced });
  return found === null
    ? null
    : [found.subject, found.periodSeconds, found.dimension, found.cap, found.waitSeconds];
}

const onPath = (seconds: number, caps: Parameters<typeof ruleWith>[3], path = "/t") =>
  ruleWith("user_path", path, seconds, caps);

t.test("a refusal has the longest wait in any order; on a tie the earlier rule's", async (t) => {
  const minute = onPath(60, { requests: 2 });
  const hour = onPath(3600, { requests: 2 });
  t.equal(refusal(bookWith(9, minute, hour), { requests: 1 }), null);
  t.same(refusal(bookWith(9, minute, hour), { requests: 2 }), ["/t", 3600, "requests", 2, 3601]);
  t.same(refusal(bookWith(9, hour, minute), { requests: 2 }), ["/t", 3600, "requests", 2, 3601]);
  const root = onPath(60, { requests: 2 }, "/");
  t.same(refusal(bookWith(9, minute, root), { requests: 2 }), ["/", 60, "requests", 2, 61]);
});

t.test("requests come before tokens on a tie; tokens count where they are enforced", async (t) => {
  const both = onPath(60, { requests: 2, tokens: 10 });
  t.same(refusal(bookWith(9, both), { requests: 2, tokens: 10 }), ["/t", 60, "requests", 2, 61]);
  t.same(refusal(bookWith(9, both), { requests: 2, tokens: 15 }), ["/t", 60, "tokens", 10, 81]);
  t.same(refusal(bookWith(9, both), { tokens: 10 }), ["/t", 60, "tokens", 10, 61]);
  t.equal(refusal(bookWith(9, both), { tokens: 10, tokensEnforced: false }), null);
  t.equal(refusal(bookWith(9, both), { tokens: 9 }), null);
});

t.test("a full gauge is a guess of a second, and gives way to any longer wait", async (t) => {
  const slots = onPath(0, { requests: 1 });
  const full = (...rules: readonly RuleDefinition[]): RuleBook => {
    const book = bookWith(9, slots, ...rules);
    takeSlots(matchKept(book, "/t", now));
    return book;
  };
  t.equal(refusal(bookWith(9, slots)), null);
  t.same(refusal(full()), ["/t", 0, "concurrent", 1, 1]);
  t.same(refusal(full(onPath(60, { requests: 2 })), { requests: 2 }), [
    "/t",
    60,
    "requests",
    2,
    61,
  ]);
});

t.test("on a tie at a wait of one second, the refusal names the earlier rule", async (t) => {
  for (const [path, expected] of [
    ["/", ["/", 60, "requests", 100, 1]],
    ["/t/a", ["/t", 0, "concurrent", 1, 1]],
  ] as const) {
    const book = bookWith(9, onPath(0, { requests: 1 }), onPath(60, { requests: 100 }, path));
    const met = matchKept(book, "/t/a", now);
    charge(book, met, { atMs: now - 1, requests: 100, tokens: 0 }, now);
    takeSlots(met);
    t.same(refusal(book, { path: "/t/a" }), expected);
  }
});

t.test("a new child of a full template waits for the sweep; a known one doesn't", async (t) => {
  const template = onPath(60, { requests: 5, perChild: true });
  const full = (...rules: readonly RuleDefinition[]): RuleBook => {
    const book = bookWith(1, template, ...rules);
    charge(book, matchKept(book, "/t/known", now), { atMs: now, requests: 1, tokens: 0 }, now);
    return book;
  };
  const asked = (book: RuleBook, path: string): unknown => {
    const found = breachOf(book.matchPath(path, now), options);
    return found === null
      ? null
      : [found.subject, found.periodSeconds, found.dimension, found.cap, found.waitSeconds];
  };
  t.equal(asked(full(), "/t/known"), null);
  const byChildren = ["/t/new", 60, "children", 1, secondsToSweepAll];
  t.same(asked(full(), "/t/new"), byChildren);
  for (const [seconds, expected] of [
    [3600, ["/", 3600, "requests", 1, 3601]],
    [1, byChildren],
  ] as const) {
    const book = full(onPath(seconds, { requests: 1 }, "/"));
    t.same(asked(book, "/t/new"), expected);
  }
});

t.test(
  "a refusal has the shorter wait of two targets, and the longer wait of two rules",
  async (t) => {
    const found = (path: string, requests: number, seconds = 60) => {
      const book = bookWith(9, onPath(seconds, { requests: 2 }, path));
      charge(book, matchKept(book, path, now), { atMs: now, requests, tokens: 0 }, now);
      return longestBreach(book.matchPath(path, now), options)!;
    };
    const [a, b, long] = [found("/a", 2), found("/b", 2), found("/a", 2, 3600)];
    t.equal(shorterBreach(a, long), a);
    t.equal(shorterBreach(long, a), a);
    t.equal(shorterBreach(b, a), b, "on a tie the first target");
    t.equal(longerBreach(a, long), long);
    t.equal(longerBreach(long, a), long);
    t.equal(longerBreach(b, a), a, "on a tie the earlier rule");
    t.equal(longerBreach(a, b), a);
  },
);
