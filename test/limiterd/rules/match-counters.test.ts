import t from "tap";
import {
  hasWindow,
  inOrder,
  isSameTarget,
  matchAll,
  matchTarget,
  noRules,
  TargetRules,
} from "../../../limiterd/rules/match-counters.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { bookOf, names, now, rule } from "../book-of.js";

const gpt: Target = { provider: "openai", model: "gpt-4o" };
const rules = [
  rule("model", "gpt-4o"),
  rule("provider", "openai"),
  rule("user_path", "/"),
  rule("user_path", "/team"),
];

t.test("a request meets the rules of its target, then those of its path", async (t) => {
  const book = bookOf(...rules);
  const ofTarget = ["gpt-4o 60", "openai 60"];
  const ofPath = ["/ 60", "/team 60"];
  t.same(names(matchAll(book, "/team/a", gpt, now)), [...ofTarget, ...ofPath]);
  t.same(names(matchAll(book, "/team/a", null, now)), ofPath, "without a target the path's alone");
  t.same(names(matchTarget(book, gpt)), ofTarget);
  t.same(names(matchTarget(book, null)), []);
  t.same(names(inOrder([], book.matchPath("/", now))), ["/ 60"]);
  const ofTargets = new TargetRules(book);
  t.same(names(ofTargets.matchTarget(gpt)), ofTarget);
  t.same(ofTargets.matchPath(), []);
  t.same(
    [noRules.matchPath("/", now), noRules.copyPath("/", now), noRules.matchTarget(gpt)],
    [[], [], []],
  );
});

t.test("a target is the same by its provider and its model, and none is no other's", async (t) => {
  for (const [a, b, expected] of [
    [gpt, gpt, true],
    [gpt, { ...gpt }, true],
    [gpt, { ...gpt, provider: "azure" }, false],
    [gpt, { ...gpt, model: "o3" }, false],
    [gpt, null, false],
    [null, gpt, false],
    [null, null, true],
  ] as const)
    t.equal(isSameTarget(a, b), expected, JSON.stringify([a, b]));
});

t.test("what counts over time has a window, a gauge has none", async (t) => {
  const book = bookOf(rule("user_path", "/", 0), rule("user_path", "/", 1));
  t.same(book.matchPath("/", now).map(hasWindow), [false, true]);
});
