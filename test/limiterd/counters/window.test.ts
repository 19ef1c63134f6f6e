import fc from "fast-check";
import t from "tap";
import {
  addCounts,
  clearWindow,
  estimateRequests,
  halfOf,
  newWindow,
  rollWindow,
  secondsToCaps,
  slidingTokens,
  splitWindowKey,
  type Window,
  waitForRequests,
  waitForTokens,
  windowFromStored,
  windowKey,
  windowToStored,
} from "../../../limiterd/counters/window.js";

const minute = 60_000;

function add(window: Window, periodMs: number, atMs: number, requests: number): void {
  const startMs = halfOf(window, periodMs, atMs);
  if (startMs !== null) addCounts(window, startMs, requests, requests * 10);
}

function counted(periodMs: number, at: readonly (readonly [ms: number, count: number])[]): Window {
  const window = newWindow(periodMs, at[0]?.[0] ?? 0);
  for (const [ms, count] of at) {
    rollWindow(window, periodMs, ms);
    add(window, periodMs, ms, count);
  }
  return window;
}

/** The estimate by its definition, from all that was ever counted, in integers without an end. */
function oracleEstimate(
  periodMs: number,
  history: readonly (readonly [number, number])[],
  nowMs: number,
): bigint {
  const start = nowMs - (nowMs % periodMs);
  let previous = 0n;
  let current = 0n;
  for (const [ms, count] of history) {
    if (ms >= start) current += BigInt(count);
    else if (ms >= start - periodMs) previous += BigInt(count);
  }
  return (previous * BigInt(start + periodMs - nowMs)) / BigInt(periodMs) + current;
}

t.test("the waits of the worked table", (t) => {
  const table = [
    { name: "10 at 0 s, cap 10, at 0 s", history: [[0, 10]], now: 0, cap: 10, wait: 61 },
    {
      name: "10 at 0 s and one at 61 s, cap 10",
      history: [
        [0, 10],
        [61_000, 1],
      ],
      now: 61_000,
      cap: 10,
      wait: 6,
    },
    { name: "1 at 59 s, cap 1", history: [[59_000, 1]], now: 59_000, cap: 1, wait: 2 },
    {
      name: "100 at 59 s, cap 100, at 60 s",
      history: [[59_000, 100]],
      now: 60_000,
      cap: 100,
      wait: 1,
    },
    { name: "30 at 0 s, cap 10", history: [[0, 30]], now: 0, cap: 10, wait: 101 },
  ] as const;
  for (const { name, history, now, cap, wait } of table) {
    const window = counted(minute, history);
    rollWindow(window, minute, now);
    t.equal(waitForRequests(window, minute, now, cap), wait, name);
  }
  t.end();
});

const count = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 2 ** 49 }));
const periodMs = fc.oneof(
  fc.constantFrom(1000, 10_000, minute, 3_600_000, 86_400_000),
  fc.integer({ min: 1, max: 4_000_000 }).map((s) => s * 1000),
);

t.test("the estimate is exact for any counts, periods and times", (t) => {
  fc.assert(
    fc.property(
      periodMs,
      fc.integer({ min: 0, max: 2 ** 41 }),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), count), {
        minLength: 1,
        maxLength: 12,
      }),
      (period, begin, steps) => {
        let now = begin;
        const history: [number, number][] = [];
        const window = newWindow(period, now);
        for (const [ratio, amount] of steps) {
          now += Math.floor(ratio * period * 1.5);
          rollWindow(window, period, now);
          add(window, period, now, amount);
          history.push([now, amount]);
          const expected = oracleEstimate(period, history, now);
          if (
            expected <= BigInt(Number.MAX_SAFE_INTEGER) &&
            BigInt(estimateRequests(window, period, now)) !== expected
          )
            return false;
        }
        return true;
      },
    ),
    { numRuns: 500 },
  );
  t.pass("500 histories");
  t.end();
});

t.test("a wait is honest: after it there is room, a second earlier there is none", (t) => {
  fc.assert(
    fc.property(
      fc.record({
        period: periodMs,
        begin: fc.integer({ min: 0, max: 2 ** 41 }),
        ratio: fc.double({ min: 0, max: 1, noNaN: true }),
        first: count,
        second: count,
        cap: fc.integer({ min: 1, max: 2 ** 49 }),
      }),
      ({ period, begin, ratio, first, second, cap }) => {
        const now = begin + Math.floor(ratio * period * 1.2);
        const window = counted(period, [
          [begin, first],
          [now, second],
        ]);
        const room = (atMs: number): boolean => {
          const copy = { ...window };
          rollWindow(copy, period, atMs);
          return estimateRequests(copy, period, atMs) < cap;
        };
        if (room(now)) return true;
        const wait = waitForRequests(window, period, now, cap);
        return (
          wait >= 1 && room(now + wait * 1000) && (wait === 1 || !room(now + (wait - 1) * 1000))
        );
      },
    ),
    { numRuns: 1000 },
  );
  t.pass("1000 breaches");
  t.end();
});

t.test("a clock that steps back loses no count", (t) => {
  const within = counted(minute, [
    [30_000, 5],
    [65_000, 3],
  ]);
  rollWindow(within, minute, 50_000);
  t.equal(estimateRequests(within, minute, 50_000), 8, "within a period everything weighs whole");
  const far = counted(minute, [[3_600_000, 7]]);
  rollWindow(far, minute, 1_000);
  t.equal(far.startMs, 0, "further back the bounds move with the clock");
  t.equal(estimateRequests(far, minute, 1_000), 7);
  t.end();
});

t.test("what is added late goes to the half of its moment, or is past counting", (t) => {
  const window = newWindow(minute, 120_000);
  add(window, minute, 119_999, 1);
  add(window, minute, 120_000, 2);
  add(window, minute, 59_999, 4);
  t.same(window, {
    startMs: 120_000,
    previousRequests: 1,
    currentRequests: 2,
    previousTokens: 10,
    currentTokens: 20,
  });
  t.end();
});

t.test(
  "a window begins at a multiple of its period, that of a rule without one at 0",
  async (t) => {
    t.equal(newWindow(minute, 125_001).startMs, 120_000);
    t.equal(newWindow(minute, 120_000).startMs, 120_000);
    t.equal(newWindow(0, 125_001).startMs, 0);
    t.equal(newWindow(1, 125_001).startMs, 125_001);
  },
);

t.test("a cleared window has counted nothing, and keeps its place", async (t) => {
  const window = newWindow(minute, 120_000);
  Object.assign(window, {
    previousRequests: 1,
    currentRequests: 2,
    previousTokens: 3,
    currentTokens: 4,
  });
  clearWindow(window);
  t.same(window, newWindow(minute, 120_000));
});

t.test("products beyond 2^51 are divided exactly, in estimates and in waits", async (t) => {
  const periodMs = 2 ** 36;
  const window = newWindow(periodMs, 0);
  const cap = 2 ** 20;
  for (const [count, leftMs] of [
    // The largest rest with room, from count × rest < cap × period.
    [2 ** 40, 2 ** 16 - 1],
    [(2 ** 56 - 256) / 255, 255],
    [2 ** 40 + 1, 2 ** 16 - 1],
    [2 ** 40 - 1, 2 ** 16],
  ] as const) {
    t.ok(BigInt(count) * BigInt(leftMs) < BigInt(cap) * BigInt(periodMs));
    t.ok(BigInt(count) * BigInt(leftMs + 1) >= BigInt(cap) * BigInt(periodMs));
    Object.assign(window, { currentTokens: count, currentRequests: count });
    const roomAtMs = 2 * periodMs - leftMs;
    for (const wait of [waitForTokens, waitForRequests]) {
      t.equal(wait(window, periodMs, roomAtMs - 2000, cap), 2, `${count}`);
      t.equal(wait(window, periodMs, roomAtMs - 2001, cap), 3, `${count}`);
    }
  }
  const previous = { previousTokens: 2 ** 50 + 1, currentTokens: 3 };
  Object.assign(window, { ...previous, startMs: periodMs });
  t.equal(slidingTokens(window, periodMs, 2 * periodMs - 2 ** 35), 2 ** 49 + 3);
  t.equal(slidingTokens(window, periodMs, 2 * periodMs - 1), 2 ** 14 + 3);
});

t.test("counts stop at the largest safe integer, and at 0", async (t) => {
  const window = newWindow(minute, 0);
  addCounts(window, 0, 0, Number.MAX_SAFE_INTEGER - 1);
  addCounts(window, 0, 0, 5);
  t.equal(window.currentTokens, Number.MAX_SAFE_INTEGER);
  addCounts(window, 0, 1, 0);
  addCounts(window, 0, -2, 0);
  t.equal(window.currentRequests, 0);
});

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

t.test("when a cap is reached at the pace of the window", (t) => {
  const caps = { maxRequests: 100, maxTokens: null };
  const table = [
    { name: "2 a second since 0 s", history: [[0, 40]], now: 20_000, seconds: 30 },
    { name: "as much as the cap allows", history: [[0, 20]], now: 20_000, seconds: null },
    {
      name: "the minute before leaves at 1 a second",
      history: [
        [0, 60],
        [60_000, 40],
      ],
      now: 80_000,
      seconds: 20,
    },
    {
      name: "in the next minute, this one leaves",
      history: [
        [0, 100],
        [60_000, 60],
      ],
      now: 100_000,
      seconds: null,
    },
    {
      name: "the first seconds of a minute say little",
      history: [
        [0, 60],
        [60_000, 20],
      ],
      now: 65_000,
      seconds: null,
    },
    { name: "one that is reached already", history: [[0, 100]], now: 20_000, seconds: null },
    { name: "nothing", history: [], now: 20_000, seconds: null },
  ] as const;
  for (const { name, history, now, seconds } of table) {
    const window = counted(minute, history);
    rollWindow(window, minute, now);
    t.equal(secondsToCaps(window, minute, now, caps), seconds, name);
  }
  const window = counted(minute, [[0, 40]]);
  t.equal(secondsToCaps(window, minute, 20_000, { maxRequests: 100, maxTokens: 500 }), 5);
  t.equal(secondsToCaps(window, minute, 20_000, { maxRequests: 0, maxTokens: 500 }), null);
  t.end();
});

t.test("it is the second at which the estimate reaches the cap if the pace goes on", (t) => {
  for (const perSecond of [1, 2, 3, 7])
    for (const before of [0, 30, 90, 200])
      for (const cap of [100, 150, 300]) {
        const window = counted(minute, [
          [0, before],
          [60_000, perSecond * 20],
        ]);
        rollWindow(window, minute, 80_000);
        if (estimateRequests(window, minute, 80_000) >= cap) continue;
        const seconds = secondsToCaps(window, minute, 80_000, {
          maxRequests: cap,
          maxTokens: null,
        });
        let reached: number | null = null;
        for (let at = 81_000; at <= 180_000 && reached === null; at += 1000) {
          rollWindow(window, minute, at);
          add(window, minute, at, perSecond);
          if (estimateRequests(window, minute, at) >= cap) reached = (at - 80_000) / 1000;
        }
        const name = `${perSecond} a second after ${before}, cap ${cap}: ${seconds}, ${reached}`;
        // The estimate is rounded down, and requests come once a second.
        if (seconds !== null && reached !== null) t.ok(Math.abs(seconds - reached) <= 2, name);
        else t.ok((seconds ?? reached ?? 100) >= 98, name);
      }
  t.end();
});
