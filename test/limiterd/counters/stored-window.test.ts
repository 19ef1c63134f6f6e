import t from "tap";
import {
  splitWindowKey,
  windowFromStored,
  windowKey,
  windowToStored,
} from "../../../limiterd/counters/stored-window.js";

const window = {
  startMs: 1,
  previousRequests: 2,
  currentRequests: 3,
  previousTokens: 4,
  currentTokens: 5,
};

t.test("a window comes back as it went in, and nothing else is taken for one", async (t) => {
  const stored = windowToStored(window, 6);
  t.same(stored, [1, 2, 3, 4, 5, 6]);
  t.same(windowFromStored(stored), { ...window, lsn: 6 });
  for (let i = 0; i < stored.length; i++)
    for (const wrong of [-1, 0.5, "1", null])
      t.equal(windowFromStored(stored.with(i, wrong)), null, `${i}: ${String(wrong)}`);
  t.equal(windowFromStored(stored.with(0, Number.MAX_SAFE_INTEGER)), null, "no date is that far");
  t.equal(windowFromStored(stored.slice(1)), null);
  t.equal(windowFromStored([...stored, 7]), null);
});

t.test("a key holds the rule's id and the child, whatever characters are in the id", async (t) => {
  for (const [ruleId, child] of [
    ["user_path\n/a\n60", ""],
    ["user_path\n/a\n60", "kid"],
  ] as const)
    t.same(splitWindowKey(windowKey(ruleId, child)), { ruleId, child });
});
