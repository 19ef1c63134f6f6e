import t from "tap";
import {
  unknownUsageText,
  usageFigures,
} from "../../../proxy/dashboard/web/parts/usage/usage-figures.js";

const totals = {
  start_date: "2026-11-01",
  end_date: "2026-11-28",
  total_requests: 12,
  total_input_tokens: 1000,
  total_output_tokens: 200,
  total_tokens: 1200,
  cached_input_tokens: 0,
  cache_write_input_tokens: 0,
  uncached_input_tokens: 1000,
  total_input_cost: 1,
  total_output_cost: 2,
  total_cost: 3,
  unpriced_requests: 0,
  rewrite_tokens_saved: 0,
};

t.test("what there is none of is no figure", async (t) => {
  t.same(
    usageFigures(totals).map(({ label, value, note }) => [label, value, note]),
    [
      ["Cost", "$3.00", "all of them priced"],
      ["Requests", "12", "2026-11-01 to 2026-11-28 UTC"],
      ["Input tokens", "1,000", undefined],
      ["Output tokens", "200", undefined],
    ],
  );
});

t.test("a range with times is written with them", async (t) => {
  const times = { start: "2026-11-27T22:00:00.000Z", end: "2026-11-28T01:30:00.001Z" };
  const note = (before?: typeof totals) =>
    usageFigures({ ...totals, ...times }, before).find(({ label }) => label === "Requests")?.note;
  t.equal(note(), "2026-11-27 22:00 to 2026-11-28 01:30 UTC");
  t.equal(
    note({ ...totals, ...times }),
    "2026-11-27 22:00 to 2026-11-28 01:30 UTC, beside as long a time before",
  );
});

t.test("usage that isn't known is apart, with what it may be at most", async (t) => {
  const unknown = { unknown_calls: 2, unknown_tokens_at_most: 2_000_150, unknown_cost_at_most: 20 };
  const last = {
    label: "Calls of unknown usage, estimated here",
    value: "2",
    note: "at most 2 M tokens, $20.00",
  };
  const [cost, , , , ...more] = usageFigures({ ...totals, ...unknown });
  t.equal(cost?.value, "$3.00");
  t.same(more, [last]);
  t.equal(unknownUsageText({ unknown_calls: 1 }), "at most 0 tokens, $0.00");
});

t.test("notes say what is part of a figure", async (t) => {
  const figures = usageFigures({
    ...totals,
    cached_input_tokens: 600,
    reasoning_tokens: 50,
    unpriced_requests: 1,
    rewrite_tokens_saved: 70,
  });
  t.same(
    figures.map(({ note }) => note),
    [
      "1 without a price, not in the cost",
      "2026-11-01 to 2026-11-28 UTC",
      "600 of them read from caches",
      "50 of them reasoning",
      undefined,
    ],
  );
  t.match(figures.at(-1), { label: "Tokens saved by rewriters", value: "70" });
});

t.test("beside the period before, each sum says how it changed", async (t) => {
  const before = {
    ...totals,
    start_date: "2026-10-04",
    end_date: "2026-10-31",
    total_cost: 2,
    total_requests: 12,
    total_input_tokens: 0,
  };
  t.same(
    usageFigures(totals, before).map(({ change }) => change),
    ["+50%", "", "new", ""],
  );
  t.equal(
    usageFigures(totals, before)[1]?.note,
    "2026-11-01 to 2026-11-28 UTC, beside the 28 days before",
  );
});
