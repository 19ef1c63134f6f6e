/** Rates out of totals: no spike where a sample is lost or a daemon begins anew. */
import fc from "fast-check";
import t from "tap";
import {
  currentRate,
  rateBetween,
  type Sample,
  withSample,
} from "../../../proxy/dashboard/web/logic/rates.js";

const sample = (atMs: number, admitted: number, more: Partial<Sample> = {}): Sample => ({
  atMs,
  admitted,
  refused: 0,
  overBudget: 0,
  tokens: null,
  costToday: null,
  inFlight: 0,
  ...more,
});

t.test("a rate is a difference over its own time", async (t) => {
  const rate = rateBetween(
    sample(0, 10, { refused: 1, tokens: 100 }),
    sample(5_000, 20, { refused: 2, tokens: 600 }),
  );
  t.match(rate, { atMs: 5_000, admitted: 2, refused: 0.2, overBudget: 0, tokens: 6_000 });
});

t.test("a request that a budget refused counts once", async (t) => {
  const rate = rateBetween(
    sample(0, 0, { refused: 3, overBudget: 2 }),
    sample(10_000, 0, { refused: 63, overBudget: 42 }),
  );
  t.match(rate, { refused: 6, byRules: 2, overBudget: 4 });
});

t.test("tokens are unknown while usage isn't tracked", async (t) => {
  const at = (tokens: number | null, atMs: number): Sample => sample(atMs, 0, { tokens });
  t.equal(rateBetween(at(null, 0), at(10, 5_000)).tokens, null);
});

t.test("totals that became smaller restart the line", async (t) => {
  const before = [sample(0, 500), sample(5_000, 600)];
  for (const next of [
    sample(10_000, 3),
    sample(10_000, 600, { refused: -1 }),
    sample(10_000, 600, { tokens: -1 }),
  ])
    t.same(withSample(before, next, 60_000), [next]);
});

t.test("an answer that is late, or the same again, adds nothing", async (t) => {
  const samples = [sample(0, 1), sample(5_000, 2)];
  t.equal(withSample(samples, sample(5_000, 2), 60_000), samples);
});

t.test("what is older than the line is forgotten", async (t) => {
  let samples: readonly Sample[] = [];
  for (let i = 0; i < 1_000; i++) samples = withSample(samples, sample(i * 5_000, i), 600_000);
  t.equal(samples.length, 121);
});

t.test("whatever totals come in whatever order, no rate is negative or infinite", async () => {
  const totals = fc.record({
    atMs: fc.integer({ min: 0, max: 100_000 }),
    admitted: fc.nat(1_000),
    refused: fc.nat(1_000),
    overBudget: fc.nat(1_000),
    tokens: fc.option(fc.nat(1_000)),
    costToday: fc.constant(null),
    inFlight: fc.nat(10),
  });
  fc.assert(
    fc.property(fc.array(totals), (all) => {
      let samples: readonly Sample[] = [];
      for (const each of all) samples = withSample(samples, each, 50_000);
      return samples.slice(1).every((each, i) => {
        const { admitted, refused, overBudget, tokens } = rateBetween(samples[i]!, each);
        return [admitted, refused, overBudget, tokens ?? 0].every(
          (n) => Number.isFinite(n) && n >= 0,
        );
      });
    }),
  );
});

t.test("the current rate spans the requested time, and one sample has none", async (t) => {
  t.equal(currentRate([], 10_000), null);
  t.equal(currentRate([sample(0, 1)], 10_000), null);
  const samples = [sample(0, 0), sample(5_000, 50), sample(10_000, 60), sample(15_000, 70)];
  t.equal(currentRate(samples, 10_000)?.admitted, 2);
});
