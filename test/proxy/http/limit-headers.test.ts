import t from "tap";
import {
  messagesHeaders,
  refusalHeaders,
  successHeaders,
} from "../../../proxy/http/limit-headers.js";
import type { Breach } from "../../../shared/domain/verdict.js";

const breach: Breach = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  dimension: "requests",
  cap: 10,
  waitSeconds: 61,
};

const asRecord = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]),
  );

t.test("tokens by kind have the names of Anthropic's clients", async (t) => {
  const left = { limit: 500, remaining: 20, resetSeconds: 7 };
  const nowMs = Date.parse("2026-11-29T09:00:00.400Z");
  t.same(asRecord(messagesHeaders("output_tokens", left, nowMs)), {
    "anthropic-ratelimit-output-tokens-limit": "500",
    "anthropic-ratelimit-output-tokens-remaining": "20",
    "anthropic-ratelimit-output-tokens-reset": "2026-11-29T09:00:07Z",
  });
  t.match(asRecord(messagesHeaders("input_tokens", left, nowMs)), {
    "anthropic-ratelimit-input-tokens-remaining": "20",
  });
  for (const other of ["requests", "tokens", "cost", "concurrent"] as const)
    t.same(messagesHeaders(other, left, nowMs), [], other);
});

t.test(
  "a refusal has its wait in both units, the breached dimension, and for long waits the header against a retry",
  async (t) => {
    const table: readonly (readonly [change: Partial<Breach>, headers: Record<string, string>])[] =
      [
        [
          { waitSeconds: 60 },
          {
            "retry-after": "60",
            "retry-after-ms": "60000",
            "x-ratelimit-limit-requests": "10",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "60",
          },
        ],
        [
          { waitSeconds: 61 },
          {
            "retry-after": "61",
            "retry-after-ms": "61000",
            "x-should-retry": "false",
            "x-ratelimit-limit-requests": "10",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "61",
          },
        ],
        [
          { waitSeconds: 1, dimension: "tokens", cap: 7 },
          {
            "retry-after": "1",
            "retry-after-ms": "1000",
            "x-ratelimit-limit-tokens": "7",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "1",
          },
        ],
        [
          { waitSeconds: 1, dimension: "concurrent" },
          { "retry-after": "1", "retry-after-ms": "1000" },
        ],
      ];
    for (const [change, headers] of table)
      t.same(asRecord(refusalHeaders({ ...breach, ...change })), headers, JSON.stringify(change));
  },
);

t.test("success headers hold a triple for each limited dimension", async (t) => {
  const requests = { limit: 10, remaining: 0, resetSeconds: 60 };
  const tokens = { limit: 5000, remaining: 4999, resetSeconds: 1 };
  const ofRequests = {
    "x-ratelimit-limit-requests": "10",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "60",
  };
  const ofTokens = {
    "x-ratelimit-limit-tokens": "5000",
    "x-ratelimit-remaining-tokens": "4999",
    "x-ratelimit-reset-tokens": "1",
  };
  t.same(asRecord(successHeaders(null)), {});
  t.same(asRecord(successHeaders({ requests: null, tokens: null })), {});
  t.same(asRecord(successHeaders({ requests, tokens: null })), ofRequests);
  t.same(asRecord(successHeaders({ requests: null, tokens })), ofTokens);
  t.same(asRecord(successHeaders({ requests, tokens })), { ...ofRequests, ...ofTokens });
});
