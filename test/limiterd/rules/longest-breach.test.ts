import t from "tap";
import { charge, hold } from "../../../limiterd/rules/charge.js";
import {
  breachOf,
  longerBreach,
  longestBreach,
  shorterBreach,
} from "../../../limiterd/rules/longest-breach.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { secondsToSweepAll } from "../../../shared/bounds.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { matchKept, ruleWith } from "../book-of.js";

/** The beginning of an hour, and of a minute. */
const now = 1_767_225_600_000;
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

t.test("the longest wait is told, whatever the order; on a tie the earlier rule's", async (t) => {
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
    hold(matchKept(book, "/t", now));
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

t.test("on a tie with a window that waits a second the earlier of the two is told", async (t) => {
  for (const [path, expected] of [
    ["/", ["/", 60, "requests", 100, 1]],
    ["/t/a", ["/t", 0, "concurrent", 1, 1]],
  ] as const) {
    const book = bookWith(9, onPath(0, { requests: 1 }), onPath(60, { requests: 100 }, path));
    const met = matchKept(book, "/t/a", now);
    charge(book, met, { atMs: now - 1, requests: 100, tokens: 0 }, now);
    hold(met);
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
  "of two targets the one that has room first is told, of two rules the longer wait",
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
