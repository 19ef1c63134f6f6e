/**
 * What usage costs, through real processes: each case of `outside/money/` is answered by a
 * provider, and its usage record must have the right cost.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import type { RecordItem, RecordPage } from "../shared/api/record-item.js";
import { billCases, zeroCases } from "./outside/money/bills.js";
import { type MoneyCase, moneyCases, moneyPrices } from "./outside/money/cases.js";
import { rateCases } from "./outside/money/rates.js";
import { agesSeconds } from "./support/ages.js";
import { until } from "./support/client.js";
import { makeSite } from "./support/processes/processes.js";

const providers = [
  "openai",
  "azure",
  "anthropic",
  "gemini",
  "groq",
  "openrouter",
  "xai",
  "perplexity",
  "deepinfra",
  "cohere",
  "mistral",
  "bedrock",
  "together",
  "fireworks",
  "cerebras",
];
let playing: MoneyCase | null = null;
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    if (request.url?.startsWith("/silent/") === true) return undefined;
    if (playing === null || request.method !== "POST") return void response.writeHead(404).end();
    const { body = {}, events, type = "application/json" } = playing.reported;
    if (events === undefined) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return void response.writeHead(200, { "content-type": type }).end(text);
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const isChat = playing.path.includes("/chat/");
    response.end(
      events
        .map((event) => {
          const name = "type" in event ? `event: ${event.type}\n` : "";
          return `${name}data: ${JSON.stringify(event)}\n\n`;
        })
        .join("") + (isChat ? "data: [DONE]\n\n" : ""),
    );
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  server.close();
  server.closeAllConnections();
});
const { port } = server.address() as AddressInfo;
const rest = "api_key: none, retries: 0, breaker_failures: 0, models: ['*']";
const site = makeSite(
  t,
  `
providers:
${providers.map((name) => `  ${name}: { base_url: "http://127.0.0.1:${port}/${name}", ${rest} }`).join("\n")}
  silent: { type: openai, base_url: "http://127.0.0.1:${port}/silent", first_byte_timeout_ms: 300, ${rest} }
  priced: { type: openai, base_url: "http://127.0.0.1:${port}/priced", ${rest} }
${moneyPrices}
  silent/*: { input: 1, output: 2 }
  priced/pictures: { per_image: 0.4 }
  priced/minutes: { per_minute: 0.4 }
  priced/searches: { input: 0, output: 0, per_web_search: 0.4 }
  priced/characters: { per_character: 0.1 }
  priced/requests: { input: 0, output: 0, per_request: 0.4 }
  priced/containers: { input: 0, output: 0, per_container: 0.4 }
  priced/pages: { per_page: 0.2 }
  priced/search-units: { per_search_unit: 0.4 }
  priced/image-vectors: { input: 0, output: 0, image_input: 4000 }
budgets:
  user_paths:
    - { path: /, per_child: true, limits: [{ period_seconds: ${agesSeconds}, amount: 1 }] }
entitlements: [quota_templates]
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function recordOf(requestId: string): Promise<RecordItem> {
  const look = async (): Promise<RecordItem | undefined> => {
    const answer = await fetch(`${url}/admin/usage/records?limit=5`);
    const { records } = (await answer.json()) as RecordPage;
    return records.find(({ request_id: id }) => id === requestId);
  };
  return (await until(look, (found) => found !== undefined))!;
}

for (const one of [...moneyCases, ...rateCases, ...billCases, ...zeroCases])
  t.test(`${one.id}: $${one.usd ?? "(unpriced)"}`, async (t) => {
    playing = one;
    const { path, sends = {}, sendsType = "application/json" } = one;
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": sendsType },
      body: typeof sends === "string" ? sends : JSON.stringify(sends),
    });
    const text = await response.text();
    t.equal(response.status, 200, text.slice(0, 300));
    const record = await recordOf(response.headers.get("x-request-id") ?? "");
    const cost = record.total_cost;
    if (one.usd === null || cost === null) t.equal(cost, one.usd);
    else t.ok(Math.abs(cost - one.usd) < 1e-9, `${cost}, not ${one.usd}`);
    if (one.record !== undefined) t.match(record, one.record);
  });

const bought: readonly MoneyCase[] = [
  {
    id: "pictures",
    source: [],
    path: "/v1/images/generations",
    sends: { model: "priced/pictures", prompt: "x" },
    reported: { body: { created: 1, data: [{ url: "u" }] } },
    usd: 0.4,
  },
  {
    id: "minutes",
    source: [],
    path: "/v1/audio/transcriptions",
    sends:
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\npriced/minutes\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nsound\r\n--b--\r\n',
    sendsType: "multipart/form-data; boundary=b",
    reported: { body: { text: "x", usage: { type: "duration", seconds: 60 } } },
    usd: 0.4,
  },
  {
    id: "searches",
    source: [],
    path: "/v1/responses",
    sends: { model: "priced/searches", input: "x" },
    reported: {
      body: {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [{ type: "web_search_call", id: "1", action: { type: "search" } }],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      },
    },
    usd: 0.4,
  },
  {
    id: "characters",
    source: [],
    path: "/v1/audio/speech",
    sends: { model: "priced/characters", input: "four", voice: "alloy" },
    reported: { body: "sound", type: "audio/mpeg" },
    usd: 0.4,
  },
  {
    id: "requests",
    source: [],
    path: "/v1/chat/completions",
    sends: { model: "priced/requests", messages: [{ role: "user", content: "x" }] },
    reported: {
      body: {
        choices: [
          { index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    },
    usd: 0.4,
  },
  {
    id: "containers",
    source: [],
    path: "/v1/responses",
    sends: { model: "priced/containers", input: "x" },
    reported: {
      body: {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [{ type: "code_interpreter_call", id: "1", container_id: "c" }],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      },
    },
    usd: 0.4,
  },
  {
    id: "pages",
    source: [],
    path: "/p/priced/ocr",
    sends: { model: "pages", document: {} },
    reported: { body: { pages: [], usage_info: { pages_processed: 2 } } },
    usd: 0.4,
  },
  {
    id: "search-units",
    source: [],
    path: "/p/priced/v2/rerank",
    sends: { model: "search-units", query: "x", documents: ["y"] },
    reported: { body: { results: [], meta: { billed_units: { search_units: 1 } } } },
    usd: 0.4,
  },
  {
    id: "image-vectors",
    source: [],
    path: "/p/priced/v2/embed",
    sends: { model: "image-vectors", images: ["x"] },
    reported: { body: { embeddings: {}, meta: { billed_units: { image_tokens: 100 } } } },
    usd: 0.4,
  },
];

for (const one of bought)
  t.test(`a budget of $1 ends after three of ${one.id} at $0.40`, async (t) => {
    playing = one;
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) {
      const response = await fetch(url + one.path, {
        method: "POST",
        headers: {
          "content-type": one.sendsType ?? "application/json",
          "x-sluice-user-path": `/${one.id}`,
        },
        body: typeof one.sends === "string" ? one.sends : JSON.stringify(one.sends),
      });
      await response.text();
      statuses.push(response.status);
    }
    t.same(statuses, [200, 200, 200, 429]);
  });

t.test(
  "a request that a silent provider has is charged by an estimate, with a bound",
  async (t) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "silent/gpt-5",
        max_completion_tokens: 5000,
        messages: [{ role: "user", content: "x" }],
      }),
    });
    t.equal(response.status, 504);
    const record = await recordOf(response.headers.get("x-request-id") ?? "");
    t.match(record, { status: 504, estimated: true, tokens_at_most: Number, cost_at_most: Number });
    t.ok((record?.cost_at_most ?? 0) >= 0.01, "the output that it asked for");
  },
);
