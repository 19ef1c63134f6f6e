import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  type CacheBounds,
  type CachedAnswer,
  ResponseCache,
} from "../../../../proxy/handlers/cache/response-cache.js";

const usage = {
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 3,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reportedCost: null,
  details: null,
};
const wide: CacheBounds = {
  ttlMs: 1000,
  entriesMax: 100,
  bytesMax: 1_000_000,
  entryBytesMax: 100_000,
};

function answer(bytes: number): CachedAnswer {
  return {
    contentType: "application/json",
    body: Buffer.alloc(bytes),
    target: { provider: "p", model: "m" },
    usage,
    estimated: false,
  };
}

t.test(
  "an answer is found until it reaches its maximum age, or is older than the request wants",
  async (t) => {
    const cache = new ResponseCache(wide);
    const kept = answer(10);
    cache.keep("a", kept, 5000);
    t.same(cache.find("a", 5000.5, Infinity), { answer: kept, ageMs: 0.5 });
    t.equal(cache.find("b", 5000, Infinity), null);
    t.equal(cache.find("a", 5000, 0), null, "none is fresh enough for a request that wants none");
    t.equal(cache.find("a", 5600, 600), null);
    t.equal(cache.find("a", 5999, 1000)?.ageMs, 999);
    t.equal(cache.entries, 1);
    t.equal(cache.find("a", 6000, Infinity), null);
    t.same([cache.entries, cache.bytes], [0, 0], "it is gone");
  },
);

t.test("a later answer to the same request takes the place of the first", async (t) => {
  const cache = new ResponseCache(wide);
  cache.keep("a", answer(10), 0);
  const bytes = cache.bytes;
  const second = answer(20);
  cache.keep("a", second, 900);
  t.same([cache.entries, cache.bytes], [1, bytes + 10]);
  t.equal(cache.find("a", 1800, Infinity)?.answer, second);
  cache.keep("a", answer(100_001), 1801);
  t.equal(cache.find("a", 1802, Infinity), null, "one that is too large takes it away");
});

t.test("the least recently used answer is dropped first, by number and by bytes", async (t) => {
  const few = new ResponseCache({ ...wide, entriesMax: 2 });
  few.keep("a", answer(1), 0);
  few.keep("b", answer(1), 0);
  few.find("a", 1, Infinity);
  few.keep("c", answer(1), 2);
  t.same(
    ["a", "b", "c"].map((key) => few.find(key, 3, Infinity) !== null),
    [true, false, true],
  );
  const small = new ResponseCache({ ...wide, bytesMax: 10_000, entryBytesMax: 9000 });
  for (const key of ["a", "b", "c"]) small.keep(key, answer(2000), 0);
  small.find("a", 1, Infinity);
  small.keep("d", answer(5000), 2);
  t.same(
    ["a", "b", "c", "d"].map((key) => small.find(key, 3, Infinity) !== null),
    [true, false, false, true],
  );
  small.keep("e", answer(9000), 4);
  t.equal(
    small.entries,
    2,
    "nothing goes for one that has no room anyway, with what an entry takes besides",
  );
});

t.test("the bounds always hold, and the answer found is the last one stored", async () => {
  const step = fc.oneof(
    fc.record({ keep: fc.nat(8), bytes: fc.nat(4000), after: fc.nat(300) }),
    fc.record({ find: fc.nat(8), ageMsMax: fc.constantFrom(Infinity, 0, 400), after: fc.nat(300) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new ResponseCache({
        ttlMs: 1000,
        entriesMax: 4,
        bytesMax: 8000,
        entryBytesMax: 3000,
      });
      const last = new Map<number, { answer: CachedAnswer; atMs: number }>();
      let nowMs = 0;
      for (const step of steps) {
        nowMs += step.after;
        if ("keep" in step) {
          const kept = answer(step.bytes);
          cache.keep(String(step.keep), kept, nowMs);
          last.set(step.keep, { answer: kept, atMs: nowMs });
        } else {
          const hit = cache.find(String(step.find), nowMs, step.ageMsMax);
          const known = last.get(step.find);
          if (hit !== null) {
            assert.equal(hit.answer, known?.answer);
            assert.equal(hit.ageMs, nowMs - known!.atMs);
            assert.ok(
              hit.ageMs < 1000 && hit.ageMs < step.ageMsMax && hit.answer.body.length <= 3000,
            );
          }
        }
        assert.ok(cache.entries <= 4 && cache.bytes <= 8000);
      }
    }),
    { numRuns: 1000 },
  );
});

t.test(
  "answers that are being recorded have as much room together as those in the cache",
  async (t) => {
    const cache = new ResponseCache({ ...wide, bytesMax: 2048 });
    t.same([cache.reserve(2000), cache.reserve(49), cache.reserve(48)], [true, false, true]);
    cache.release(1000);
    t.same([cache.reserve(1001), cache.reserve(1000)], [false, true]);
  },
);
