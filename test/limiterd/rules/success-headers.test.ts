import t from "tap";
import { countsOf } from "../../../limiterd/counters/counter.js";
import { type RuleShares, wholeSeconds } from "../../../limiterd/counters/window.js";
import { headersOfCounters } from "../../../limiterd/rules/admit.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { bookOf, matchKept, now, rule, ruleWith } from "../book-of.js";

const options = { nowMs: now, tokensEnforced: true };

t.test("what is left is never less than nothing, and is each dimension's own", async (t) => {
  const book = bookOf(ruleWith("user_path", "/", 60, { requests: 3, tokens: 10 }));
  const counters = matchKept(book, "/", now);
  for (const [requests, tokens, left] of [
    [0, 0, [3, 10]],
    [2, 9, [1, 1]],
    [1, 1, [0, 0]],
    [1, 5, [0, 0]],
  ] as const) {
    charge(book, counters, { atMs: now, requests, tokens }, now);
    const headers = headersOfCounters(counters, options);
    t.same([headers?.requests?.remaining, headers?.tokens?.remaining], left);
  }
});

t.test(
  "of rules with equally little left, the headers have the earlier one's values, in both dimensions",
  async (t) => {
    const book = bookOf(
      ruleWith("user_path", "/", 60, { requests: 5, tokens: 9 }),
      ruleWith("user_path", "/a", 3600, { requests: 5, tokens: 9 }),
      ruleWith("user_path", "/a/b", 3600, { requests: 4, tokens: 8 }),
      rule("user_path", "/a/b", 0, { requests: 1 }),
    );
    const headersOf = (path: string, tokensEnforced = true) =>
      headersOfCounters(book.matchPath(path, now), { nowMs: now, tokensEnforced });
    const of = (limit: number, resetSeconds: number) => ({ limit, remaining: limit, resetSeconds });
    t.same(headersOf("/a"), { requests: of(5, 60), tokens: of(9, 60) });
    t.same(headersOf("/a/b"), { requests: of(4, 3600), tokens: of(8, 3600) });
    t.same(headersOf("/a/b", false), { requests: of(4, 3600), tokens: null });
  },
);

t.test("the end of a window is a whole second away, at least one", async (t) => {
  for (const [ms, seconds] of [
    [60_000, 60],
    [59_999, 60],
    [1001, 2],
    [1000, 1],
    [1, 1],
    [0, 1],
    [-5000, 1],
  ] as const)
    t.equal(wholeSeconds(ms), seconds, String(ms));
});

t.test("a counter that is shared counts what all hosts do, as it is shared now", async (t) => {
  const book = bookOf(rule("user_path", "/"));
  const [counter] = matchKept(book, "/", now);
  const share = (inFlight: number) => ({
    view: (window: object) => ({ window, inFlight, nowMs: now + inFlight }),
  });
  const sharesWith = (found: number | null): RuleShares =>
    ({ find: () => (found === null ? null : share(found)) }) as unknown as RuleShares;
  const seen = (): number => countsOf(counter!, now).inFlight;
  t.same(countsOf(counter!, now), { window: counter!.window, inFlight: 0, nowMs: now });
  const shares = sharesWith(2);
  Object.assign(counter!.rule, { shares });
  t.equal(seen(), 2, "of a share that no request has met it is looked for");
  Object.assign(counter!, { share: share(3), shareFrom: shares });
  t.equal(seen(), 3);
  Object.assign(counter!.rule, { shares: sharesWith(4) });
  t.equal(seen(), 4, "shared anew since");
  Object.assign(counter!.rule, { shares: sharesWith(null) });
  t.equal(seen(), 0, "and nobody has counted yet");
});
