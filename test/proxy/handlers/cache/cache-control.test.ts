import t from "tap";
import { readCacheControl } from "../../../../proxy/handlers/cache/cacheable.js";

t.test("a request says how old an answer may be, and whether it may be stored", async (t) => {
  const cases: readonly (readonly [string | undefined, number, boolean])[] = [
    [undefined, Infinity, true],
    ["", Infinity, true],
    ["no-cache", 0, true],
    ["no-store", 0, false],
    ["No-Store , NO-CACHE", 0, false],
    ["max-age=60", 60_000, true],
    ['max-age = "60", no-store', 0, false],
    ["max-age=0", 0, true],
    ["no-cache, max-age=60", 0, true],
    ["max-age=60, max-age=90", 0, true],
    ["max-age=-1", 0, true],
    ["max-age", 0, true],
    ["max-age=1.5", 0, true],
    ["max-stale=60, only-if-cached, no-transform, x-no-store", Infinity, true],
  ];
  for (const [header, ageMsMax, store] of cases)
    t.same(readCacheControl(header), { ageMsMax, store }, String(header));
});
