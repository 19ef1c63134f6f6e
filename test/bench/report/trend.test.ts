import t from "tap";
import { isFlat, lows, type Point, trendOf } from "./trend.js";

/** One value every five seconds. */
function series(values: readonly number[]): readonly Point[] {
  return values.map((value, i) => ({ atS: i * 5, value }));
}

/** A heap: it grows for a minute, is collected, and each time is left with a little more. */
function sawtooth(leak: number): readonly Point[] {
  return series(
    Array.from({ length: 300 }, (_, i) => 100 + (i % 12) * 5 + Math.floor(i / 12) * leak),
  );
}

t.test("the lows of a heap that is collected each minute are on a line", async (t) => {
  t.same(
    lows(sawtooth(0), 60).map(({ value }) => value),
    new Array(25).fill(100),
  );
});

t.test("a leak shows in the trend, whatever the collector does in between", async (t) => {
  for (const [leak, flat] of [
    [0, true],
    [0.1, true],
    [1, false],
    [5, false],
  ] as const) {
    const trend = trendOf(lows(sawtooth(leak), 60))!;
    t.ok(Math.abs(trend.growth - leak * 24) < 1e-9, `${leak}: ${trend.growth}`);
    t.equal(isFlat(trend, 8), flat, `a leak of ${leak} a minute`);
  }
});

t.test("a few peaks move nothing, and what shrinks is flat", async (t) => {
  const values = Array.from({ length: 60 }, (_, i) => (i % 17 === 0 ? 1000 : 50));
  t.match(trendOf(series(values)), { typical: 50, growth: 0, seconds: 295 });
  t.ok(isFlat(trendOf(series(values.map((value, i) => value - i)))!, 0));
});

t.test("too few values have no trend", async (t) => {
  t.equal(trendOf(series([1, 2, 3, 4])), null);
  t.equal(trendOf([]), null);
});
