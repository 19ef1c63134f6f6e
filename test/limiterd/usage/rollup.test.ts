import t from "tap";
import {
  addRollup,
  copyRollup,
  emptyRollup,
  isEmptyRollup,
  type Rollup,
  recordKeyIn,
  rollupFromStored,
  rollupOf,
  rollupToStored,
} from "../../../limiterd/usage/rollup.js";
import { detailNames, detailsOf } from "../../../shared/usage/usage-details.js";
import { recordOn } from "../lifecycle/flush-fixture.js";

const money = (microUsd: number, picoUsd: number) => ({ microUsd, picoUsd });

/** A sum in which no two numbers are alike. */
const sum: Rollup = {
  requests: 1,
  inputTokens: 2,
  outputTokens: 3,
  cachedInputTokens: 4,
  cacheWriteInputTokens: 5,
  unpricedRequests: 6,
  rewriteTokensSaved: 7,
  rewritesPriced: 8,
  models: 9,
  details: null,
  inputCost: money(10, 11),
  outputCost: money(12, 13),
  totalCost: money(14, 15),
  rewriteCostSaved: money(16, 17),
  unknownCalls: 19,
  tokensAtMost: 20,
  costAtMost: money(21, 22),
};

t.test("a record's sum holds its counts and costs", async (t) => {
  const record = {
    ...recordOn("/a"),
    inputTokens: 20,
    outputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteInputTokens: 5,
    inputCost: 1_000_001,
    outputCost: 2,
    totalCost: 1_000_003,
    rewriteTokensSaved: 8,
    rewriteCostSaved: 9,
  };
  t.same(rollupOf(record), {
    requests: 1,
    inputTokens: 20,
    outputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteInputTokens: 5,
    unpricedRequests: 0,
    rewriteTokensSaved: 8,
    rewritesPriced: 1,
    models: 0,
    details: null,
    inputCost: money(1, 1),
    outputCost: money(0, 2),
    totalCost: money(1, 3),
    rewriteCostSaved: money(0, 9),
    unknownCalls: 0,
    tokensAtMost: 0,
    costAtMost: money(0, 0),
  });
  t.match(rollupOf({ ...record, atMost: { tokens: 50, cost: 1_000_007 } }), {
    unknownCalls: 1,
    tokensAtMost: 50,
    costAtMost: money(1, 7),
  });
  t.match(rollupOf({ ...record, rewriteCostSaved: null }), {
    rewritesPriced: 0,
    rewriteCostSaved: money(0, 0),
  });
  for (const missing of ["inputCost", "outputCost", "totalCost"])
    t.match(
      rollupOf({ ...record, [missing]: null }),
      {
        unpricedRequests: 1,
        inputCost: money(0, 0),
        outputCost: money(0, 0),
        totalCost: money(0, 0),
      },
      `without ${missing} none of them counts`,
    );
});

t.test(
  "sums are added number by number, but for the models; counts stop at the largest",
  async (t) => {
    const total = copyRollup(sum);
    t.same(total, { ...sum, models: 0 });
    addRollup(total, sum);
    const doubled = rollupToStored(total, 0);
    t.same(
      doubled,
      rollupToStored({ ...sum, models: 0 }, 0).map((number) => 2 * Number(number)),
    );
    const most = Number.MAX_SAFE_INTEGER;
    const full: Rollup = { ...copyRollup(sum), requests: most, outputTokens: most - 3 };
    addRollup(full, sum);
    t.match(full, { requests: most, outputTokens: most, inputTokens: 4 });
  },
);

t.test(
  "a sum comes back from the store as it went in, and nothing else is taken for one",
  async (t) => {
    const stored = rollupToStored(sum, 18);
    t.same(stored, [
      ...Array.from({ length: 18 }, (_, i) => i + 1),
      ...detailNames.map(() => 0),
      19,
      20,
      21,
      22,
    ]);
    t.same(rollupFromStored(stored), sum);
    t.equal(recordKeyIn(stored), 18);
    t.same(rollupFromStored(rollupToStored(emptyRollup(), 0)), emptyRollup());
    for (let i = 0; i < stored.length; i++)
      for (const wrong of [-1, 0.5, "1", null, undefined])
        t.equal(rollupFromStored(stored.with(i, wrong)), null, `${i}: ${String(wrong)}`);
    t.equal(rollupFromStored(stored.slice(0, 17)), null);
    t.match(rollupFromStored(stored.slice(0, 18)), { unknownCalls: 0, details: null });
    t.equal(rollupFromStored([...stored, 1]), null);
  },
);

t.test("a sum is empty until anything is added", async (t) => {
  t.ok(isEmptyRollup(emptyRollup()));
  for (const field of ["requests", "inputTokens", "outputTokens"] as const)
    t.notOk(isEmptyRollup({ ...emptyRollup(), [field]: 1 }), field);
  for (const totalCost of [
    { microUsd: 1, picoUsd: 0 },
    { microUsd: 0, picoUsd: 1 },
  ])
    t.notOk(isEmptyRollup({ ...emptyRollup(), totalCost }));
});

t.test("what answers tell beside their tokens is added up, where there is any", async (t) => {
  const total = emptyRollup();
  const searched = { ...recordOn("/a"), details: detailsOf("flex", { webSearches: 2 }) };
  const thought = { ...recordOn("/a"), details: detailsOf(null, { reasoningTokens: 7 }) };
  addRollup(total, rollupOf({ ...recordOn("/a"), details: detailsOf("flex", {}) }));
  t.equal(total.details, null, "a tier alone is nothing to add up");
  t.equal(rollupToStored(total, 5).length, 18, "and takes no room");
  for (const record of [searched, thought, searched]) addRollup(total, rollupOf(record));
  t.match(total.details, { webSearches: 4, reasoningTokens: 7, fileSearches: 0 });
  t.equal(searched.details?.counts.webSearches, 2, "the records stay as they were");
  const stored = rollupToStored(total, 5);
  t.same(rollupFromStored(stored), total);
  t.equal(recordKeyIn(stored), 5);
});

t.test("what one record adds is no part of another one's", async (t) => {
  const free = { ...recordOn("/a"), inputCost: null, outputCost: null, totalCost: null };
  const priced = { ...recordOn("/a"), inputCost: 5, outputCost: 6, totalCost: 11 };
  const [one, other] = [emptyRollup(), emptyRollup()];
  for (const record of [free, priced, free]) addRollup(one, rollupOf(record));
  addRollup(other, rollupOf(free));
  t.same([one.totalCost, one.requests, one.unpricedRequests], [money(0, 11), 3, 2]);
  t.same([other.totalCost, other.inputCost], [money(0, 0), money(0, 0)]);
  t.same(rollupOf(free).totalCost, money(0, 0));
});
