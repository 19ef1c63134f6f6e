/**
 * Many clients of OpenAI's SDK at once against a limit far below: with a wait each of them is
 * served, and all together take no longer than the limit requires. The SDKs send the header as a
 * default header, and their own timeout. `WAITING_CLIENTS=1000` plays it with as many.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

const clients = Number(process.env["WAITING_CLIENTS"] ?? 200);
const periodMs = clients > 200 ? 10_000 : 2000;
const max = Math.floor(clients * 0.6);

const site = makeSite(
  t,
  `
waiting: { max_seconds: 120 }
providers:
  simulator: { type: simulator, models: [fast] }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${periodMs / 1000}, max_requests: ${max} }] }
    - { path: /few, limits: [{ period_seconds: 2, max_requests: 10 }] }
    - { path: /day, limits: [{ period: day, max_requests: 1 }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const messages = [{ role: "user" as const, content: "Hello!" }];
const headers = { prefer: "wait=100", "x-sluice-user-path": "/team" };

/** When the last of the requests that came at these times is admitted, at the best. */
function idealEndMs(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((a, b) => a - b);
  let nowMs = sorted[0]!;
  let windowMs = nowMs - (nowMs % periodMs);
  let [previous, current] = [0, 0];
  for (let next = 0; ; nowMs++) {
    if (nowMs >= windowMs + periodMs) {
      windowMs += periodMs;
      [previous, current] = [current, 0];
    }
    const left = windowMs + periodMs - nowMs;
    while (sorted[next]! <= nowMs && Math.floor((previous * left) / periodMs) + current < max) {
      current++;
      if (++next === sorted.length) return nowMs;
    }
  }
}

t.test("many SDK clients get no 429, in the shortest time", async (t) => {
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: masterKey,
    maxRetries: 0,
    defaultHeaders: headers,
  });
  const answers = await Promise.all(
    Array.from({ length: clients }, async () => {
      const { response } = await client.chat.completions
        .create({ model: "simulator/fast", messages })
        .withResponse();
      const endMs = Date.now();
      const waitedMs = Number(response.headers.get("x-sluice-waited-ms"));
      return { status: response.status, endMs, waitedMs };
    }),
  );
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  const arrivals = answers.map(({ endMs, waitedMs }) => endMs - waitedMs);
  const startMs = Math.min(...arrivals);
  const idealMs = idealEndMs(arrivals) - startMs;
  const tookMs = Math.max(...answers.map(({ endMs }) => endMs)) - startMs;
  const waited = answers.filter(({ waitedMs }) => waitedMs > 0).length;
  t.comment(`${clients} clients, ${waited} waited: ${tookMs} ms, at the best ${idealMs} ms`);
  t.ok(waited > 0);
  // A busy machine takes longer.
  t.ok(tookMs < idealMs + 10_000, `${tookMs} ms`);
});

t.test("an SDK's own timeout ends the wait before the SDK gives up", async (t) => {
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: masterKey,
    maxRetries: 0,
    timeout: 3000,
    defaultHeaders: { ...headers, "x-sluice-user-path": "/day" },
  });
  await client.chat.completions.create({ model: "simulator/fast", messages });
  const refused = await client.chat.completions
    .create({ model: "simulator/fast", messages })
    .catch((error: unknown) => error);
  t.match(refused, { status: 429 });
});

t.test("Anthropic's SDK waits too, streamed", async (t) => {
  const client = new Anthropic({
    baseURL: url,
    apiKey: masterKey,
    maxRetries: 0,
    defaultHeaders: { ...headers, "x-sluice-user-path": "/few" },
  });
  const answers = await Promise.all(
    Array.from({ length: 14 }, () =>
      client.messages.stream({ model: "simulator/fast", max_tokens: 20, messages }).finalMessage(),
    ),
  );
  t.equal(new Set(answers.map(({ role }) => role)).size, 1);
});
