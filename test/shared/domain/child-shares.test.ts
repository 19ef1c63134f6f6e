import t from "tap";
import {
  type ChildShares,
  parseShares,
  shareOfChild,
  sharesField,
  sharesOfText,
  textOfShares,
} from "../../../shared/domain/child-shares.js";
import { parseRuleWrite } from "../../../shared/domain/rule.js";

t.test("shares are checked, each number in its range", async (t) => {
  t.same(parseShares(undefined, "shares"), { ok: true, value: {} });
  t.same(parseShares(null, "shares"), { ok: true, value: {} });
  t.same(parseShares({}, "shares"), { ok: true, value: { childShares: {} } });
  const shares = {
    default_weight: 2,
    min_share: 0.1,
    children: { b: { priority: -1 }, a: { weight: 3, floor: 0.2 } },
  };
  const parsed = parseShares(shares, "shares");
  t.same(parsed, { ok: true, value: { childShares: shares } });
  t.same(parsed.ok && Object.keys(sharesField(parsed.value).shares!.children!), ["a", "b"]);
  for (const [wrong, param, message] of [
    ["a=3", "shares", /^shares must be a mapping such as \{children/],
    [{ weight: 1 }, "shares.weight", /^unknown field shares\.weight: expected default_weight, /],
    [{ default_weight: 0 }, "shares.default_weight", /must be a number from 0\.001 to 1000, not 0/],
    [{ min_share: 0.6 }, "shares.min_share", /from 0\.01 to 0\.5/],
    [{ children: [] }, "shares.children", /must be a mapping of children/],
    [{ children: { "a/b": {} } }, "shares.children", /one segment of a path, such as app, not "a/],
    [{ children: { "..": {} } }, "shares.children", /one segment/],
    [{ children: { a: 3 } }, "shares.children.a", /a mapping of weight, floor and priority/],
    [{ children: { a: { share: 3 } } }, "shares.children.a.share", /unknown field/],
    [{ children: { a: { floor: 2 } } }, "shares.children.a.floor", /a number from 0 to 1/],
    [{ children: { a: { priority: 1.5 } } }, "shares.children.a.priority", /an integer from -100/],
    [{ children: { a: { floor: 0.6 }, b: { floor: 0.5 } } }, "shares.children", /not 1\.1/],
    [
      { children: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`c${i}`, {}])) },
      "shares.children",
      /at most 1000 children/,
    ],
  ] as const)
    t.match(parseShares(wrong, "shares"), { ok: false, failure: { param, message } });
});

t.test("a rule that allows no request has nothing to share", async (t) => {
  const body = {
    user_path: "/team",
    limit_key: { period: "minute" },
    models: ["gpt-4o"],
    max_requests: 0,
    shares: {},
  };
  t.match(parseRuleWrite(body, { perChildEntitled: true }), {
    ok: false,
    failure: { param: "shares" },
  });
});

t.test("shares have a short text, which is read back", async (t) => {
  for (const [text, shares] of [
    ["equal", {}],
    ["a: weight=3, floor=0.2; b: priority=-1", undefined],
    ["a: weight=3; *: weight=2, min_share=0.1", undefined],
    ["*: min_share=0.1", { min_share: 0.1 }],
  ] as const) {
    const read = sharesOfText(text) as ChildShares;
    if (shares !== undefined) t.same(read, shares);
    t.equal(textOfShares(read), text);
  }
  const odd = { children: { "a;b": { weight: 2 } } };
  t.same(sharesOfText(textOfShares(odd)), odd);
  t.equal(textOfShares({ children: { a: {} } }), "a: weight=1");
  for (const wrong of ["a", "a: weight", "{", "a: weight=x", 5])
    t.equal(sharesOfText(wrong), wrong, "for `parseShares`");
});

t.test("a child has what is written, or the defaults", async (t) => {
  const shares = { default_weight: 2, children: { a: { floor: 0.1 } } };
  t.same(shareOfChild(shares, "a"), { weight: 2, floor: 0.1, priority: 0 });
  t.same(shareOfChild(shares, "toString"), { weight: 2, floor: 0, priority: 0 });
  t.same(shareOfChild({}, "a"), { weight: 1, floor: 0, priority: 0 });
});
