import t from "tap";
import { createTargetPrices } from "../../../proxy/prices/target-prices.js";
import { repriceUsage } from "../../../proxy/usage/reprice-usage.js";
import type { RecordItem } from "../../../shared/api/record-item.js";
import type { RepricePage } from "../../../shared/api/reprice-page.js";
import { append } from "../../../shared/long-lists.js";
import { fieldsOfDetails, noDetailCounts } from "../../../shared/usage/usage-details.js";
import { exactly } from "../../support/patterns/exactly.js";
import { fakeGateway } from "../fake-gateway.js";

const { config } = fakeGateway(`
providers:
  local: { type: vllm, base_url: "http://127.0.0.1:9/v1", models: ["*"] }
prices:
  local/new: { input: 2, output: 10, cached_input: 1, changes: [{ from: 2026-02-01, input: 4 }] }
  local/asked: { per_request: 0.5 }
  local/both: { input: 2, output: 10, cached_input: 1, per_request: 0.5 }
  local/tiered: { input: 2, output: 10, cached_input: 1, service_tiers: { flex: 0.5 } }
  local/reasoning: { input: 2, output: 10, cached_input: 1, reasoning: 30, per_request: 0.5, per_web_search: 0.01 }
  local/drawn: { per_image: 1, images: { hd: 2 } }
`).gateway;

function recordOf(changes: Partial<RecordItem> = {}): RecordItem {
  return {
    ...fieldsOfDetails(noDetailCounts),
    id: "1.0",
    time: "2026-01-31T12:00:00.000Z",
    request_id: "r",
    user_path: "/",
    key_id: null,
    provider: "local",
    provider_type: "vllm",
    model: "new",
    endpoint: "/v1/chat/completions",
    status: 200,
    input_tokens: 1000,
    output_tokens: 100,
    total_tokens: 1100,
    cached_input_tokens: 500,
    cache_write_input_tokens: 0,
    input_cost: null,
    output_cost: null,
    total_cost: null,
    rewrite_tokens_saved: 0,
    rewrite_cost_saved: null,
    cache_hit: false,
    estimated: false,
    tokens_at_most: null,
    cost_at_most: null,
    latency_ms: 1,
    first_byte_ms: 1,
    requested_model: "new",
    key_name: null,
    labels: [],
    service_tier: null,
    region: null,
    session: null,
    cost_source: null,
    price_list: null,
    provider_request_id: null,
    provider_key: null,
    loop: 0,
    tool_calls: [],
    cut_by: null,
    repriced_cost: null,
    repriced_at: null,
    corrects: null,
    ...changes,
  };
}

/** The adjustments that the daemon gets, and the answer. */
async function repriced(records: readonly RecordItem[], question: object = {}) {
  const booked: unknown[] = [];
  const answer = await repriceUsage(
    {
      pricesAt: (nowMs) => createTargetPrices(config, { list: null, nowMs }),
      async call(op, body) {
        if (op === "usage.export")
          return { ok: true, value: { records, next: null, progress: 1, server_time: "" } };
        const { adjustments } = body as { readonly adjustments: readonly unknown[] };
        append(booked, adjustments);
        return { ok: true, value: { adjusted: adjustments.length } };
      },
    },
    { start_date: "2026-01-01", ...question },
  );
  return { booked, page: answer.ok ? (answer.value as RepricePage) : null };
}

const half = 500 * 2e6 + 500 * 1e6;
const cost = half + 100 * 10e6;

t.test("a record costs what it would have cost at its time", async (t) => {
  const { booked, page } = await repriced([
    recordOf(),
    recordOf({ id: "1.1", time: "2026-02-01T00:00:00.000Z" }),
  ]);
  t.same(booked, [
    ["1.0", half, 1e9, cost, "operator", ""],
    ["1.1", half + 500 * 2e6, 1e9, cost + 500 * 2e6, "operator", ""],
  ]);
  t.match(
    page,
    exactly({
      models: [{ model: "local/new", requests: 2, input_tokens: 2000, cost_before: 0 }],
      differing: 2,
      booked: 2,
      unpriced: 0,
    }),
  );
});

t.test("which records are repriced", async (t) => {
  const usd = cost / 1e12;
  const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0, cached_input_tokens: 0 };
  const priced = { total_cost: 1, cost_source: "list" } as const;
  for (const [name, changes, expected, question = {}] of [
    ["unpriced", {}, cost],
    ["by the list", priced, cost],
    ["by the operator", { ...priced, cost_source: "operator" }, cost],
    ["reported", { ...priced, cost_source: "reported" }, null],
    ["reported, and asked for", { ...priced, cost_source: "reported" }, cost, { reported: true }],
    ["nothing was charged", { ...none, total_cost: 0, status: 500 }, null],
    ["the same cost", { ...priced, total_cost: usd }, null],
    ["repriced to the same cost", { repriced_cost: usd }, null],
    ["repriced to another", { repriced_cost: 1 }, cost],
    ["from the cache", { cache_hit: true }, null],
    ["a difference", { corrects: "1.0" }, null],
    ["an estimate", { estimated: true }, cost],
    [
      "an estimate with a tier",
      { estimated: true, model: "tiered", service_tier: "flex" },
      cost / 2,
    ],
    ["an estimate with reasoning", { estimated: true, reasoning_tokens: 50 }, cost],
    ["a request with a fee", { model: "both" }, cost + 5e11],
    ["a part of one", { model: "both", status: 102 }, cost],
    ["a part of one that is sold by the request", { model: "asked", status: 102 }, 0],
    ["several models", { total_cost: 1 }, null],
    ["without a price", { ...priced, model: "other" }, null],
    ["of another model", {}, null, { model: "other" }],
    ["of this model", {}, cost, { model: "Local/NEW" }],
    ["without usage, by the request", { ...none, model: "asked" }, 5e11],
    ["a picture", { ...none, model: "drawn", images: 2 }, 2e12],
    ["a picture of a kind", { ...none, ...priced, model: "drawn", images: 2 }, null],
    [
      "what cancels an estimate",
      {
        estimated: true,
        input_tokens: -1000,
        output_tokens: -100,
        total_tokens: -1100,
        cached_input_tokens: -500,
      },
      -cost,
    ],
    [
      "what cancels an estimate with reasoning",
      {
        model: "reasoning",
        input_tokens: -1000,
        output_tokens: -100,
        total_tokens: -1100,
        cached_input_tokens: -500,
        reasoning_tokens: -50,
        web_searches: -3,
        status: 102,
      },
      -(cost + 50 * 20e6 + 3e10),
    ],
  ] as const) {
    const { booked } = await repriced([recordOf(changes as Partial<RecordItem>)], question);
    t.same(
      (booked as readonly (readonly unknown[])[]).map(([, , , total]) => total),
      expected === null ? [] : [expected],
      name,
    );
  }
  const dry = await repriced([recordOf(), recordOf({ model: "other" })], { dry_run: true });
  t.same(dry.booked, []);
  t.match(dry.page, { differing: 1, booked: 0, unpriced: 1, kept: 0 });
  const { page } = await repriced([
    recordOf({ total_cost: 1 }),
    recordOf({ model: "drawn", images: 2, total_cost: 1, cost_source: "operator" }),
    recordOf({ model: "other", total_cost: 1, cost_source: "list" }),
    recordOf({ total_cost: 1, cost_source: "reported" }),
    recordOf({ total_cost: 0, status: 500, total_tokens: 0 }),
  ]);
  t.match(page, { differing: 0, unpriced: 0, kept: 3 });
});
