import t from "tap";
import { KeyRing } from "../../../limiterd/keys/key-ring.js";
import { isWithin, recordItem } from "../../../limiterd/lists/show-record.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import {
  detailFields,
  detailNames,
  detailsOf,
  noDetailCounts,
} from "../../../shared/usage/usage-details.js";
import { executed } from "../in-memory-daemon.js";

const record: UsageRecord = {
  ...executed({ cachedInputTokens: 3, cacheWriteInputTokens: 4, rewriteTokensSaved: 5 }),
  atMs: Date.UTC(2026, 2, 10),
  userPath: "/team/app",
  estimated: true,
};

const noDetails = Object.fromEntries(detailNames.map((name) => [detailFields[name], 0]));

const shown = {
  id: "7.1",
  time: "2026-03-10T00:00:00.000Z",
  request_id: "req_1",
  user_path: "/team/app",
  key_id: null,
  provider: "openai",
  provider_type: "openai",
  model: "gpt-4o",
  endpoint: "/v1/chat/completions",
  status: 200,
  input_tokens: 20,
  output_tokens: 10,
  total_tokens: 30,
  cached_input_tokens: 3,
  cache_write_input_tokens: 4,
  input_cost: 60e-12,
  output_cost: 30e-12,
  total_cost: 90e-12,
  rewrite_tokens_saved: 5,
  rewrite_cost_saved: null,
  cache_hit: false,
  estimated: true,
  latency_ms: 5,
  first_byte_ms: 2,
  requested_model: "gpt-4o",
  key_name: null,
  labels: ["none"],
  service_tier: null,
  region: null,
  tokens_at_most: null,
  cost_at_most: null,
  repriced_cost: null,
  repriced_at: null,
  corrects: null,
  session: null,
  cost_source: null,
  price_list: null,
  provider_request_id: null,
  provider_key: null,
  loop: 0,
  tool_calls: [],
  cut_by: null,
  ...noDetails,
};

t.test("a record is shown with what its key is called now, and its costs in dollars", async (t) => {
  const keys = new KeyRing();
  const key = {
    redacted: "",
    oldSecrets: [],
    models: null,
    role: null,
    userPath: null,
    labels: [],
  };
  const times = { createdAtMs: 0, expiresAtMs: null, deactivatedAtMs: null, lastUsedAtMs: null };
  keys.add({ ...key, ...times, number: 1, hash: "1", name: "CI", deletedAtMs: null });
  keys.add({ ...key, ...times, number: 2, hash: "", name: null, deletedAtMs: 5 });
  const labelsOf = (keyId: string): readonly string[] => [keyId || "none"];
  const details = detailsOf("flex", { ...noDetailCounts, [detailNames[0]]: 8 });
  for (const [changes, differing] of [
    [{}, {}],
    [{ keyId: "key_1" }, { key_id: "key_1", key_name: "CI", labels: ["key_1"] }],
    [{ keyId: "key_2" }, { key_id: "key_2", labels: ["key_2"] }],
    [{ keyId: "key_3" }, { key_id: "key_3", labels: ["key_3"] }],
    [{ requestedModel: "smart" }, { requested_model: "smart" }],
    [{ session: "s-1" }, { session: "s-1" }],
    [
      { costSource: "list", priceList: "2026-11-28" },
      { cost_source: "list", price_list: "2026-11-28" },
    ],
    [
      { providerRequestId: "req_9", providerKey: "prod" },
      { provider_request_id: "req_9", provider_key: "prod" },
    ],
    [{ cutBy: "the day token limit of /a" }, { cut_by: "the day token limit of /a" }],
    [{ model: "" }, { model: null, requested_model: null }],
    [
      { model: "", requestedModel: "smart" },
      { model: null, requested_model: "smart" },
    ],
    [{ rewriteCostSaved: 7 }, { rewrite_cost_saved: 7e-12 }],
    [
      { inputCost: null, outputCost: null, totalCost: null },
      { input_cost: null, output_cost: null, total_cost: null },
    ],
    [{ atMost: { tokens: 9, cost: null } }, { tokens_at_most: 9 }],
    [{ atMost: { tokens: 9, cost: 5 } }, { tokens_at_most: 9, cost_at_most: 5e-12 }],
    [{ details }, { service_tier: "flex", [detailFields[detailNames[0]]]: 8 }],
  ] as const)
    t.strictSame(
      recordItem({ keys, labelsOf }, "7.1", { ...record, ...changes }),
      { ...shown, ...differing },
      JSON.stringify(changes),
    );
});

t.test(
  "a record is within a path, its children, and moments of which the last is out",
  async (t) => {
    const at = { ...record, atMs: 5 };
    const none = { fromMs: null, beforeMs: null, userPath: "/" };
    for (const [changes, within] of [
      [{}, true],
      [{ userPath: "/team" }, true],
      [{ userPath: "/team/app" }, true],
      [{ userPath: "/team/app/x" }, false],
      [{ userPath: "/te" }, false],
      [{ userPath: "/other" }, false],
      [{ fromMs: 4 }, true],
      [{ fromMs: 5 }, true],
      [{ fromMs: 6 }, false],
      [{ beforeMs: 5 }, false],
      [{ beforeMs: 6 }, true],
      [{ fromMs: 5, beforeMs: 6 }, true],
      [{ fromMs: 5, beforeMs: 6, userPath: "/other" }, false],
    ] as const)
      t.equal(isWithin(at, { ...none, ...changes }), within, JSON.stringify(changes));
  },
);
