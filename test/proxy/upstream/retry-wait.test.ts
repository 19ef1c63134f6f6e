import fc from "fast-check";
import t from "tap";
import { readRetryAfterMs, retryWaitMs } from "../../../proxy/upstream/retry-wait.js";

const provider = { retries: 3, retryWaitMaxMs: 2000, firstByteTimeoutMs: 600_000 };
const failed = { isWorthRetrying: true, retryAfterMs: null };
const first = { retried: 0, elapsedMs: 0, random: 1 };

t.test("each retry may wait twice as long as the one before, up to the bound", async (t) => {
  const at = (retried: number, random = 1): number | null =>
    retryWaitMs(failed, { ...first, retried, random }, { ...provider, retries: 10 });
  t.same(
    [0, 1, 2, 3, 4, 9].map((retried) => at(retried)),
    [250, 500, 1000, 2000, 2000, 2000],
  );
  t.equal(at(2, 0.5), 500, "full jitter: anything from nothing to that");
  t.equal(at(2, 0), 0);
  t.equal(at(10), null, "no more than the provider's retries");
});

t.test("a provider is left alone for as long as it asks, or isn't asked again", async (t) => {
  const after = (retryAfterMs: number | null): number | null =>
    retryWaitMs({ ...failed, retryAfterMs }, { ...first, random: 0.5 }, provider);
  t.equal(after(null), 125);
  t.equal(after(0), 125);
  t.equal(after(1500), 1625);
  t.equal(after(2000), 2125);
  t.equal(after(2001), null);
  t.equal(after(Infinity), null);
  t.equal(retryWaitMs({ ...failed, isWorthRetrying: false }, first, provider), null);
});

t.test("no wait is shorter than asked, longer than allowed or beyond the deadline", async () => {
  const waits = fc.record({
    retries: fc.nat(10),
    retried: fc.nat(12),
    retryWaitMaxMs: fc.nat(60_000),
    firstByteTimeoutMs: fc.integer({ min: 1, max: 600_000 }),
    retryAfterMs: fc.option(fc.nat(100_000)),
    elapsedMs: fc.nat(700_000),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(waits, ({ retries, retried, retryWaitMaxMs, retryAfterMs, ...rest }) => {
      const { elapsedMs, random, firstByteTimeoutMs } = rest;
      const waitMs = retryWaitMs(
        { isWorthRetrying: true, retryAfterMs },
        { retried, elapsedMs, random },
        { retries, retryWaitMaxMs, firstByteTimeoutMs },
      );
      if (waitMs === null) return;
      const askedMs = retryAfterMs ?? 0;
      return (
        retried < retries &&
        waitMs >= askedMs &&
        askedMs <= retryWaitMaxMs &&
        waitMs - askedMs <= retryWaitMaxMs &&
        elapsedMs + waitMs < firstByteTimeoutMs
      );
    }),
  );
});

t.test("what a provider asks for is read in each of its forms", async (t) => {
  const date = ["date", "Wed, 21 Oct 2026 07:28:00 GMT"];
  const table: readonly (readonly [headers: readonly string[], ms: number | null])[] = [
    [[], null],
    [["retry-after", "7"], 7000],
    [["Retry-After", " 0.5 "], 500],
    [["retry-after", "7", "retry-after-ms", "6900"], 6900],
    [["retry-after", "7", "retry-after-ms", "soon"], 7000],
    [["retry-after", "Wed, 21 Oct 2026 07:28:30 GMT", ...date], 30_000],
    [["retry-after", "Wed, 21 Oct 2026 07:27:30 GMT", ...date], 0],
    [["retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"], Infinity],
    [["retry-after", "later", ...date], Infinity],
    [["retry-after", "-1", ...date], Infinity],
  ];
  for (const [headers, ms] of table) t.equal(readRetryAfterMs(headers), ms, headers.join(" "));
});
