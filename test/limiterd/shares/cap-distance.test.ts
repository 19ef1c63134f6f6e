import t from "tap";
import { CapDistance } from "../../../limiterd/shares/cap-distance.js";

const hourMs = 3_600_000;
const none = { requests: 0, requestsBefore: 0, slots: 0, tokens: 0, tokensBefore: 0 };
/** Half an hour into a window. */
const beginMs = 1000 * hourMs + hourMs / 2;

/** What answers say of all hosts' tokens, each with how long after the beginning it was. */
function isFarAfter(
  answers: readonly (readonly [atMs: number, tokens: number, before?: number])[],
  { cap = 1_000_000, periodMs = hourMs } = {},
): boolean {
  const distance = new CapDistance(periodMs);
  for (const [atMs, tokens, tokensBefore = 0] of answers) {
    const nowMs = beginMs + atMs;
    const window = periodMs === 0 ? 0 : Math.floor(nowMs / periodMs);
    const totals = { ...none, tokens, tokensBefore };
    distance.noteAnswer({ nowMs, window, totals }, cap - tokens - tokensBefore, cap);
  }
  return distance.isFar;
}

t.test("a cap is far while all hosts could go on for a hundred seconds", async (t) => {
  t.notOk(isFarAfter([[0, 1000]]), "how fast it is used isn't known");
  t.notOk(
    isFarAfter([
      [0, 1000],
      [999, 1000],
    ]),
    "nor so soon",
  );
  t.ok(
    isFarAfter([
      [0, 1000],
      [1000, 1000],
    ]),
  );
  t.ok(
    isFarAfter([
      [0, 1000],
      [1000, 10_000],
    ]),
    "9,000 a second",
  );
  t.notOk(
    isFarAfter([
      [0, 1000],
      [1000, 12_000],
    ]),
    "11,000 a second",
  );
  t.ok(
    isFarAfter([
      [0, 1000],
      [1000, 12_000],
      [3000, 13_000],
    ]),
    "it has calmed down",
  );
  t.notOk(
    isFarAfter([
      [0, 760_000],
      [1000, 760_000],
    ]),
    "less than a quarter is left",
  );
  const passed = [
    [0, 1000],
    [1000, 1000],
  ] as const;
  t.notOk(isFarAfter(passed, { cap: 500 }), "it is passed");
});

t.test("what was charged in lumps counts by its average", async (t) => {
  const lumps = 420_000;
  const quiet = [
    [0, lumps],
    [5000, lumps],
  ] as const;
  t.ok(isFarAfter(quiet), "in half an hour");
  t.notOk(isFarAfter(quiet, { periodMs: 60_000 }), "in the last two minutes");
});

t.test("a window that ends in between: what it counted is before", async (t) => {
  const endsMs = hourMs / 2;
  t.ok(
    isFarAfter(
      [
        [endsMs - 500, 500_000],
        [endsMs + 500, 1000, 500_000],
      ],
      { cap: 2_000_000 },
    ),
  );
});

t.test("without a cap it is far, and in a short window near", async (t) => {
  t.ok(isFarAfter([[0, 1e12]], { cap: Number.POSITIVE_INFINITY }));
  t.ok(isFarAfter([[0, 0]], { cap: Number.POSITIVE_INFINITY, periodMs: 0 }), "slots");
  t.notOk(isFarAfter([[0, 0]], { cap: Number.POSITIVE_INFINITY, periodMs: 30_000 }));
  t.notOk(
    isFarAfter(
      [
        [0, 0],
        [1000, 0],
      ],
      { periodMs: 30_000 },
    ),
  );
});

t.test("a reset, or an engine's clock that was set back, restarts the measurement", async (t) => {
  t.notOk(
    isFarAfter([
      [5000, 1000],
      [0, 1000],
      [500, 1000],
    ]),
  );
  t.ok(
    isFarAfter([
      [5000, 1000],
      [0, 1000],
      [1000, 1000],
    ]),
  );
  const distance = new CapDistance(hourMs);
  distance.noteAnswer({ nowMs: beginMs, window: 1000, totals: none }, Infinity, Infinity);
  distance.clear();
  t.notOk(distance.isFar);
});
