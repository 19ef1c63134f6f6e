/** Which cap of a rule is closest to its end. */
import t from "tap";
import {
  capUses,
  fullestCap,
  levelOf,
  shareOf,
} from "../../../proxy/dashboard/web/logic/used-share.js";

const rule = { period_seconds: 60, requests_used: 40, tokens_used: 900, in_flight: 3 };

t.test("the fullest of the caps that are set counts", async (t) => {
  t.equal(fullestCap(rule), null);
  t.same(fullestCap({ ...rule, max_requests: 100 }), { kind: "requests", used: 40, cap: 100 });
  const both = { ...rule, max_requests: 100, max_tokens: 1_000 };
  t.same(fullestCap(both), { kind: "tokens", used: 900, cap: 1_000 });
  t.equal(capUses(both).length, 2);
});

t.test("a gauge counts what is in flight", async (t) => {
  t.same(fullestCap({ ...rule, period_seconds: 0, max_requests: 4 }), {
    kind: "concurrent",
    used: 3,
    cap: 4,
  });
});

t.test("a bar has one of three words", async (t) => {
  for (const [used, level] of [
    [0, "room"],
    [79, "room"],
    [80, "near"],
    [99, "near"],
    [100, "full"],
    [130, "full"],
  ] as const)
    t.equal(levelOf(shareOf({ used, cap: 100 })), level, String(used));
  t.equal(shareOf({ used: 5, cap: 0 }), 0);
});
