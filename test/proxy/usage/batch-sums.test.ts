import t from "tap";
import { JsonPicker } from "../../../proxy/body/json-picker.js";
import { BatchSums, resultPicks } from "../../../proxy/usage/batch-sums.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import type { Price } from "../../../shared/domain/price.js";
import { evenFactors } from "../../../shared/domain/price.js";
import { flawOf } from "../../../shared/wire/execution.js";
import { batchRecordsMax } from "../../../shared/wire/stored-object.js";
import { exactly } from "../../support/patterns/exactly.js";

const rates = (input: number, output: number): Price["rates"] => ({
  input,
  output,
  cachedInput: null,
  cacheWrite: null,
});
const price: Price = {
  rates: rates(2_000_000, 10_000_000),
  tiers: [{ aboveInputTokens: 1000, rates: rates(4_000_000, 20_000_000) }],
  perRequest: 0,
  serviceTiers: { batch: evenFactors(500), flex: evenFactors(100) },
};
const batch = { provider: "openai", providerType: "openai", model: "asked" };
const sumsOf = (unpriced: readonly string[] = []): BatchSums =>
  new BatchSums(batch, {
    priceOf: ({ model }) => (unpriced.includes(model) ? null : price),
    sourceOf: () => ({ kind: "list", list: "2026-11-01" }),
  });

const answer = (model: string | undefined, input: number, output: number): object => ({
  response: {
    status_code: 200,
    body: { model, usage: { prompt_tokens: input, completion_tokens: output } },
  },
});

t.test("each line is priced alone: its own length decides the tier of its rates", async (t) => {
  const sums = sumsOf();
  for (let i = 0; i < 3; i++) sums.addLine(answer("m", 900, 10));
  sums.addLine(answer("m", 1100, 10));
  const records = sums.records();
  t.match(
    records,
    exactly([
      {
        model: "m",
        inputTokens: 3800,
        outputTokens: 40,
        inputCost: 2700 * 1_000_000 + 1100 * 2_000_000,
        outputCost: 30 * 5_000_000 + 10 * 10_000_000,
        costSource: "list",
        priceList: "2026-11-01",
        details: { serviceTier: "batch" },
      },
    ]),
  );
  t.equal(flawOf(records[0]!), null);
});

t.test("a line without a price leaves the others theirs; failed lines cost nothing", async (t) => {
  const sums = sumsOf(["new"]);
  for (const line of [
    answer("m", 10, 1),
    answer("new", 5, 5),
    { response: { status_code: 200, body: { model: "m" } } },
    { response: { status_code: 500, body: { usage: { prompt_tokens: 7 } } } },
    { result: { type: "errored", error: {} } },
    { error: { code: "x" }, response: null },
    null,
    [],
    "text",
    undefined,
  ])
    sums.addLine(line);
  t.same(
    sums.records().map(({ model, inputTokens, totalCost }) => [model, inputTokens, totalCost]),
    [
      ["m", 10, 15_000_000],
      ["new", 5, null],
      ["m", 0, null],
    ],
  );
});

t.test("every service tier is the batch's, and a line without a model is of its own", async (t) => {
  const sums = sumsOf();
  const usage = { input_tokens: 10, output_tokens: 1 };
  sums.addLine({
    result: { type: "succeeded", message: { usage: { ...usage, service_tier: "flex" } } },
  });
  t.match(sums.records(), exactly([{ model: "asked", totalCost: 15_000_000 }]));
});

t.test("beyond the bounds of a record, and of records, more is counted elsewhere", async (t) => {
  const sums = sumsOf();
  const half = Math.floor(tokensPerResponseMax / 2) + 1;
  for (let i = 0; i < 2; i++) sums.addLine(answer("m", half, 0));
  t.same(
    sums.records().map(({ inputTokens }) => inputTokens),
    [half, half],
  );
  const many = sumsOf();
  for (let i = 0; i < 1000; i++) many.addLine(answer(`m${i}`, 1, 0));
  const records = many.records();
  t.ok(records.length <= batchRecordsMax);
  t.equal(
    records.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    1000,
  );
  t.equal(records.at(-1)!.model, "(unknown)");
});

t.test("what a model says in a line isn't its usage", async (t) => {
  const picker = new JsonPicker(resultPicks);
  picker.append(
    Buffer.from(
      `{"response":{"status_code":200,"body":{"choices":[{"message":{"content":"\\"usage\\":{"}}],"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4},"x":{"usage":{"prompt_tokens":9}}}}}`,
    ),
  );
  const sums = sumsOf();
  sums.addLine(picker.value());
  t.match(sums.records(), exactly([{ model: "m", inputTokens: 3, outputTokens: 4 }]));
});
