import t from "tap";
import {
  cachedRecord,
  type ExecutedCall,
  type ProviderResult,
  usageRecord,
} from "../../../proxy/usage/usage-record.js";
import { subjectBytesMax } from "../../../shared/bounds.js";
import type { Price } from "../../../shared/domain/price.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";
import { flawOf } from "../../../shared/wire/execution.js";

const price: Price = {
  rates: { input: 2, output: 10, cachedInput: 1, cacheWrite: null },
  tiers: [],
  perRequest: 7,
};
const usage = {
  inputTokens: 100,
  outputTokens: 20,
  totalTokens: 120,
  cachedInputTokens: 40,
  cacheWriteInputTokens: 10,
  reportedCost: null,
  details: null,
};

function ended(changes: Partial<ProviderResult> = {}): ProviderResult {
  return { status: 200, usage, executed: true, firstByteMonoMs: 1012.4, ...changes };
}

const what: ExecutedCall = {
  requestId: "req_1",
  endpoint: "/v1/chat/completions",
  target: { provider: "main", model: "gpt-4o" },
  providerType: "openai",
  keyId: "",
  startedMonoMs: 1000,
  requestedModel: "",
  session: "",
  endedMonoMs: 1500.6,
  savedBytes: 0,
  price,
  priceSource: { kind: "list", list: "2026-11-28" },
  priceOf: () => null,
  isUnmetered: false,
};

t.test("a record has the tokens, costs and times of what was executed", async (t) => {
  t.same(usageRecord(ended(), what), {
    requestId: "req_1",
    endpoint: "/v1/chat/completions",
    provider: "main",
    providerType: "openai",
    model: "gpt-4o",
    status: 200,
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 40,
    cacheWriteInputTokens: 10,
    inputCost: 60 * 2 + 40 * 1,
    outputCost: 200,
    totalCost: 60 * 2 + 40 + 200 + 7,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 501,
    firstByteMs: 12,
    keyId: "",
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    costSource: "list",
    priceList: "2026-11-28",
    providerRequestId: undefined,
    providerKey: undefined,
    loop: undefined,
    toolCalls: undefined,
    cutBy: undefined,
  });
});

t.test("a record says where its cost is from", async (t) => {
  const sourceOf = (result: Partial<ProviderResult>, given: Partial<ExecutedCall>) => {
    const { costSource, priceList } = usageRecord(ended(result), { ...what, ...given })!;
    return [costSource, priceList];
  };
  const reported = { usage: { ...usage, reportedCost: 120 } };
  const operator = { priceSource: { kind: "operator" } } as const;
  const unpriced = { price: null, priceSource: null };
  t.same(sourceOf({}, {}), ["list", "2026-11-28"]);
  t.same(sourceOf({}, operator), ["operator", undefined]);
  t.same(sourceOf(reported, {}), ["reported", undefined]);
  t.same(sourceOf(reported, unpriced), ["reported", undefined]);
  t.same(sourceOf(reported, { ...operator, price: { ...price, ignoresReported: true } }), [
    "operator",
    undefined,
  ]);
  t.same(sourceOf({}, unpriced), [undefined, undefined]);
  const parts = [{ model: "other", usage }];
  t.same(
    sourceOf({ usage: { ...usage, parts } }, { priceOf: () => price }),
    [undefined, undefined],
    "several models",
  );
  t.same(sourceOf({ status: 500, usage: null }, {}), [undefined, undefined], "nothing is charged");
  t.same(sourceOf({ usage: null }, { isUnmetered: true }), ["list", "2026-11-28"], "a fee");
});

t.test("a record has the provider's id of the request and the name of its key", async (t) => {
  t.match(usageRecord(ended({ providerRequestId: "req_9", providerKey: "prod" }), what), {
    providerRequestId: "req_9",
    providerKey: "prod",
  });
});

t.test("a record has the hard cap that ended the stream, in a bounded length", async (t) => {
  const cutBy = "the day token limit of /team";
  t.equal(usageRecord(ended({ cutBy }), what)?.cutBy, cutBy);
  const long = usageRecord(ended({ cutBy: `a\n${"x".repeat(509)}\u{1f600}` }), what)!;
  t.equal(long.cutBy?.length, subjectBytesMax);
  t.equal(flawOf(long), null);
});

t.test(
  "without a price it is unpriced, which is not 0; the provider's own figure counts all the same",
  async (t) => {
    t.match(usageRecord(ended(), { ...what, price: null }), {
      inputTokens: 100,
      inputCost: null,
      outputCost: null,
      totalCost: null,
    });
    t.match(
      usageRecord(ended({ usage: { ...usage, reportedCost: 120 } }), { ...what, price: null }),
      { inputCost: 100, outputCost: 20, totalCost: 120 },
    );
    t.match(
      usageRecord(ended({ usage: { ...usage, reportedCost: 0 } }), what),
      { inputCost: 0, outputCost: 0, totalCost: 0 },
      "a free answer is priced at 0",
    );
  },
);

t.test("an error used nothing and cost nothing, with or without a price", async (t) => {
  for (const given of [price, null])
    t.match(
      usageRecord(ended({ status: 429, usage: null }), {
        ...what,
        price: given,
        priceOf: () => null,
        isUnmetered: false,
      }),
      { status: 429, inputTokens: 0, outputTokens: 0, inputCost: 0, outputCost: 0, totalCost: 0 },
    );
});

t.test("a part of a request has no fee, and a cost if only requests have a price", async (t) => {
  const whole = usageRecord(ended(), what)?.totalCost;
  t.equal(usageRecord(ended(), { ...what, isPart: true })?.totalCost, whole! - 7);
  const none = { input: null, output: null, cachedInput: null, cacheWrite: null };
  const perRequest = { ...price, rates: none };
  t.equal(usageRecord(ended(), { ...what, price: perRequest, isPart: true })?.totalCost, 0);
  const reported = { ...usage, reportedCost: 50 };
  t.equal(usageRecord(ended({ usage: reported }), { ...what, isPart: true })?.totalCost, 50);
});

t.test("an estimate is priced like any usage", async (t) => {
  t.match(usageRecord(ended({ status: 499, firstByteMonoMs: null }), what), {
    status: 499,
    totalCost: 367,
    firstByteMs: null,
  });
});

t.test("what used nothing that is known has no tokens of any kind", async (t) => {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = usageRecord(
    ended({ usage: null }),
    what,
  )!;
  t.same([inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens], [0, 0, 0, 0]);
});

t.test("what no provider worked on has no record", async (t) => {
  t.equal(usageRecord(ended({ executed: false, status: 502, usage: null }), what), null);
});

t.test("a record has no model where the request named none, and cuts a long path", async (t) => {
  const path = `/p/main/${"x".repeat(2 * subjectBytesMax)}`;
  const record = usageRecord(ended(), {
    ...what,
    target: { provider: "main", model: "" },
    endpoint: path,
  })!;
  t.match(record, { provider: "main", model: "", endpoint: path.slice(0, subjectBytesMax) });
  t.equal(flawOf(record), null);
});

t.test(
  "what rewriters took out is recorded in tokens of four bytes each, and priced as input",
  async (t) => {
    t.match(usageRecord(ended(), { ...what, savedBytes: 403 }), {
      rewriteTokensSaved: 100,
      rewriteCostSaved: 200,
    });
    t.match(usageRecord(ended(), { ...what, savedBytes: 403, price: null }), {
      rewriteTokensSaved: 100,
      rewriteCostSaved: null,
    });
    t.match(usageRecord(ended(), { ...what, savedBytes: 3 }), {
      rewriteTokensSaved: 0,
      rewriteCostSaved: null,
    });
    t.match(
      usageRecord(ended(), {
        ...what,
        savedBytes: 40,
        price: { ...price, tiers: [{ aboveInputTokens: 99, rates: { ...price.rates, input: 5 } }] },
        priceOf: () => null,
        isUnmetered: false,
      }),
      { rewriteTokensSaved: 10, rewriteCostSaved: 50 },
      "in the tier of the rest",
    );
    t.match(
      usageRecord(ended({ usage: null, status: 500 }), { ...what, savedBytes: 403 }),
      { rewriteTokensSaved: 0, rewriteCostSaved: null },
      "an error would have cost nothing either",
    );
  },
);

t.test("the record of an answer from the cache has its original usage, at no cost", async (t) => {
  t.match(cachedRecord(usage, what), {
    requestId: "req_1",
    status: 200,
    inputTokens: 100,
    cachedInputTokens: 40,
    inputCost: 0,
    outputCost: 0,
    totalCost: 0,
    cacheHit: true,
    latencyMs: 501,
    firstByteMs: null,
  });
});

t.test("times are whole milliseconds from the request's start, and never below 0", async (t) => {
  const at = (startedMonoMs: number, firstByteMonoMs: number | null) =>
    usageRecord(ended({ firstByteMonoMs }), { ...what, startedMonoMs })?.firstByteMs;
  t.strictSame([at(1000, 1000), at(1000, 999), at(1000, 1000.6), at(1000, null)], [0, 0, 1, null]);
});

t.test(
  "what an answer told beside its tokens is recorded, also when the cache repeats it",
  async (t) => {
    const details = detailsOf("flex", { webSearches: 2 });
    const detailed = { ...usage, details };
    t.same(usageRecord(ended({ usage: detailed }), what)?.details, details);
    t.equal(usageRecord(ended({ usage: null }), what)?.details, null);
    t.match(cachedRecord(detailed, what), {
      details,
      rewriteTokensSaved: 0,
      rewriteCostSaved: null,
    });
  },
);
