/**
 * Many clients of OpenAI's SDK at once against a limit far below: with a wait each of them is
 * served, and all together take no longer than the limit requires. The SDKs send the header as a
 * default header, and their own timeout. `npm run heavy -- waiting` has a thousand clients, and
 * measures the time exactly.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { idealEndMs } from "../../support/ideal-end.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

const clients = 200;
const periodMs = 2000;
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
    - { path: /day, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const messages = [{ role: "user" as const, content: "Hello!" }];
const headers = { prefer: "wait=100", "x-sluice-user-path": "/team" };

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
  const idealMs = idealEndMs(arrivals, { periodMs, max }) - startMs;
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
