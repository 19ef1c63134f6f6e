import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  attemptAttributes,
  attemptName,
  type EndedCall,
  type TracedAttempt,
} from "../../../../proxy/metrics/spans/attempt-span.js";
import type { Usage } from "../../../../proxy/usage/usage.js";
import { root } from "../../../tidy/source-tree.js";

const provider = { type: "azure", address: "a.example", port: 8443 } as const;
const chat: TracedAttempt = {
  target: { provider: "one", model: "gpt" },
  operation: "chat_completions",
  stream: false,
  resent: 0,
};
const usage = {
  inputTokens: 12,
  outputTokens: 3,
  totalTokens: 15,
  cachedInputTokens: 8,
  cacheWriteInputTokens: 0,
} as Usage;
const answered: EndedCall = {
  status: 200,
  outcome: "complete",
  usage,
  estimated: false,
  executed: true,
  firstByteMonoMs: 1250,
  failed: null,
};
const failure = {
  why: "503",
  status: 503,
  refusesCredentials: false,
  isAnswered: true,
  retryAfterMs: null,
  isWorthRetrying: true,
};
const failed: EndedCall = {
  ...answered,
  status: 503,
  outcome: "upstream_error",
  usage: null,
  firstByteMonoMs: null,
  failed: failure,
};

const always = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "azure.ai.openai",
  "sluice.provider": "one",
  "gen_ai.request.model": "gpt",
  "server.address": "a.example",
  "server.port": 8443,
};
const tokens = {
  "gen_ai.usage.input_tokens": 12,
  "gen_ai.usage.output_tokens": 3,
  "gen_ai.usage.cache_read.input_tokens": 8,
  "gen_ai.usage.cache_creation.input_tokens": 0,
};

t.test("the attributes of an attempt", async (t) => {
  const table: readonly [string, Partial<TracedAttempt>, Partial<EndedCall>, object][] = [
    ["an answer", {}, answered, { ...tokens, "http.response.status_code": 200 }],
    [
      "an answer whose tokens are an estimate",
      {},
      { ...answered, estimated: true },
      { "http.response.status_code": 200 },
    ],
    [
      "a stream",
      { stream: true },
      { ...answered, providerRequestId: "req_1" },
      {
        ...tokens,
        "gen_ai.request.stream": true,
        "gen_ai.response.time_to_first_chunk": 0.25,
        "http.response.status_code": 200,
        "sluice.provider.request_id": "req_1",
      },
    ],
    [
      "a failure, sent again",
      { resent: 2 },
      failed,
      {
        "http.response.status_code": 503,
        "error.type": "503",
        "http.request.resend_count": 2,
      },
    ],
    [
      "no answer: there is no status",
      {},
      { ...failed, status: 502, failed: { ...failure, isAnswered: false } },
      { "error.type": "502" },
    ],
    [
      "an answer that broke off",
      {},
      { ...answered, outcome: "upstream_cut", estimated: true },
      { "error.type": "upstream_cut" },
    ],
    [
      "a client that left: its status is none of the provider's",
      {},
      { ...answered, status: 499, outcome: "client_gone", usage: null },
      { "error.type": "client_gone" },
    ],
  ];
  for (const [name, what, forwarded, expected] of table)
    t.same(
      attemptAttributes({ ...chat, ...what }, provider, {
        forwarded: { ...answered, ...forwarded },
        startedMonoMs: 1000,
        answeredModel: "",
      }),
      { ...always, ...expected },
      name,
    );
});

t.test("unknown values are left out", async (t) => {
  const unread = { ...chat, operation: null, target: { provider: "one", model: "" } };
  const simulator = { type: "simulator", address: "", port: 0 } as const;
  const ended = { forwarded: failed, startedMonoMs: 0, answeredModel: "gpt-2026" };
  t.same(attemptAttributes(unread, simulator, ended), {
    "gen_ai.provider.name": "simulator",
    "sluice.provider": "one",
    "gen_ai.response.model": "gpt-2026",
    "http.response.status_code": 503,
    "error.type": "503",
  });
});

t.test("the name is the operation's, with what it is sent to", async (t) => {
  t.equal(attemptName(chat), "chat gpt");
  t.equal(attemptName({ ...chat, operation: "embeddings" }), "embeddings gpt");
  const account = { provider: "one", model: "" };
  t.equal(attemptName({ ...chat, operation: "files", target: account }), "files one");
  t.equal(attemptName({ ...chat, operation: null, target: account }), "passthrough one");
});

t.test("the page names every attribute", async (t) => {
  const page = readFileSync(join(root, "docs/reference/tracing.md"), "utf8");
  const what = { ...chat, stream: true, resent: 1 };
  const forwarded = { ...answered, providerRequestId: "req_1", outcome: "complete", status: 400 };
  const ended = { forwarded: forwarded as EndedCall, startedMonoMs: 0, answeredModel: "m" };
  for (const name of Object.keys(attemptAttributes(what, provider, ended)))
    t.ok(page.includes(`\`${name}\``), name);
});
