/** Usage records for tests, as the daemon exports them. */
import fc from "fast-check";
import { costPicoUsdMax } from "../../../shared/bounds.js";
import { costUsd } from "../../../shared/domain/money.js";
import { type ExportedRecord, recordFields } from "../../../shared/export/exported-record.js";

const texts = fc.string({ unit: fc.constantFrom(..."=+-@'\",;\t\r\n ab/ü𝄞＝") });
const amounts = fc.nat({ max: Number.MAX_SAFE_INTEGER });
/** Below $2,000 a response: there a number of dollars is exact to the pico-dollar. */
const costs = fc.option(
  fc.oneof(fc.nat({ max: 10_000 }), fc.nat({ max: costPicoUsdMax / 5 })).map(costUsd),
);
const ofKind = {
  text: texts,
  "text or null": fc.option(texts.filter((text) => text !== "")),
  count: amounts,
  "count or null": fc.option(amounts),
  usd: costs,
  flag: fc.boolean(),
  tokens: amounts,
  "tokens or null": fc.option(amounts),
  "later text": fc.option(texts.filter((text) => text !== "")),
  "later texts": fc.array(texts, { maxLength: 2 }),
  "later count": amounts,
} as const;

/** Any valid record, and some that can't occur. */
export const anyRecord: fc.Arbitrary<ExportedRecord> = fc.record(
  Object.fromEntries(recordFields.map(([name, kind]) => [name, ofKind[kind]])),
  { noNullPrototype: true },
) as fc.Arbitrary<ExportedRecord>;

/** The record of a usual request. */
export function usageRecord(changes: Partial<ExportedRecord> = {}): ExportedRecord {
  return {
    id: "1813000000000.0",
    time: "2026-02-28T12:00:00.123Z",
    request_id: "req_1",
    user_path: "/team/app",
    key_id: null,
    provider: "openai",
    provider_type: "openai",
    model: "gpt-4o",
    endpoint: "/v1/chat/completions",
    status: 200,
    input_tokens: 1000,
    output_tokens: 200,
    total_tokens: 1200,
    cached_input_tokens: 600,
    cache_write_input_tokens: 0,
    input_cost: 0.00175,
    output_cost: 0.002,
    total_cost: 0.00375,
    rewrite_tokens_saved: 0,
    rewrite_cost_saved: null,
    cache_hit: false,
    tokens_at_most: null,
    cost_at_most: null,
    repriced_cost: null,
    repriced_at: null,
    corrects: null,
    session: "0197-a",
    cost_source: "list",
    price_list: "2026-11-28",
    provider_request_id: "req_openai_1",
    provider_key: null,
    loop: 0,
    tool_calls: [],
    cut_by: null,
    estimated: false,
    latency_ms: 812,
    first_byte_ms: 97,
    requested_model: "gpt-4o",
    key_name: null,
    labels: [],
    service_tier: null,
    region: null,
    cache_write_1h_input_tokens: 0,
    audio_input_tokens: 0,
    cached_audio_input_tokens: 0,
    image_input_tokens: 0,
    cached_image_input_tokens: 0,
    reasoning_tokens: 0,
    audio_output_tokens: 0,
    image_output_tokens: 0,
    web_searches: 0,
    file_searches: 0,
    maps_searches: 0,
    search_units: 0,
    audio_ms: 0,
    characters: 0,
    images: 0,
    containers: 0,
    pages: 0,
    cache_write_12h_input_tokens: 0,
    ...changes,
  };
}

/** A daemon's answers to `usage.export` over `count` records. */
export function pagesOf(
  count: number,
  make: (index: number) => ExportedRecord,
): (query: Readonly<Record<string, unknown>>) => object {
  return ({ after, limit }) => {
    const from = after === null ? 0 : Number(after);
    const to = Math.min(count, from + Number(limit));
    return {
      records: Array.from({ length: to - from }, (_, index) => make(from + index)),
      next: to < count ? String(to) : null,
      server_time: "2026-02-28T12:00:00.123Z",
      progress: to / count,
    };
  };
}
