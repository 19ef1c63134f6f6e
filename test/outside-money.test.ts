/**
 * What usage costs, through real processes: each case of `outside/money/` is answered by a provider,
 * and its usage record must have the right cost.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import type { RecordItem, RecordPage } from "../shared/api/record-item.js";
import { type MoneyCase, moneyCases, moneyPrices } from "./outside/money/cases.js";
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
];
let playing: MoneyCase | null = null;
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
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
  priced: { type: openai, base_url: "http://127.0.0.1:${port}/priced", ${rest} }
${moneyPrices}`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function recordOf(requestId: string): Promise<RecordItem | undefined> {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await fetch(`${url}/admin/usage/records?limit=5`);
    const { records } = (await answer.json()) as RecordPage;
    const found = records.find(({ request_id: id }) => id === requestId);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return undefined;
}

for (const one of moneyCases)
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
    if (record === undefined) return t.fail("no usage record");
    const cost = record.total_cost;
    if (one.usd === null || cost === null) t.equal(cost, one.usd);
    else t.ok(Math.abs(cost - one.usd) < 1e-9, `${cost}, not ${one.usd}`);
    if (one.record !== undefined) t.match(record, one.record);
    return undefined;
  });
