/**
 * How much of a hard cap a lone stream uses, through real processes: hardly less than all of it,
 * and no more than docs/hard-caps.md says, whether the provider reports its tokens or not, also of
 * dense text and after a failover.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const provider = await startEndlessStreams();
const broken = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(503).end());
});
await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
t.teardown(async () => {
  broken.close();
  await provider.close();
});
const brokenUrl = `http://127.0.0.1:${(broken.address() as AddressInfo).port}/v1`;

const maxTokens = 5000;
/** A stream ends after the events that the proxy has read at a time: 64 KiB, or two of them. */
const onItsWay = 1000;
const paths = ["reported", "estimated", "dense", "learned", "failed"] as const;
const models = `api_key: none, retries: 0, models: [${paths.join(", ")}]`;
const site = makeSite(
  t,
  `
providers:
  down: { type: openai, base_url: "${brokenUrl}", ${models} }
  test: { type: openai, base_url: "${provider.baseUrl}", ${models} }
virtual_models:
  either: { targets: [{ model: down/failed }, { model: test/failed }] }
rate_limits:
  user_paths:
${paths.map((path) => `    - { path: /${path}, limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${maxTokens}, hold: hard }] }`).join("\n")}
    - { path: /large, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1000000, hold: hard }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

/** Streams an answer, and returns why it ended and the tokens that came. */
async function ask(model: string, path: string): Promise<{ finish: string; tokens: number }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], stream: true }),
  });
  const text = await response.text();
  return {
    finish: /"finish_reason":"(\w+)"/.exec(text)?.[1] ?? text,
    tokens: text.split(`"content":"${provider.token}"`).length - 1,
  };
}

/** Hardly fewer tokens than the cap are charged. */
async function useAll(t: Test, path: (typeof paths)[number], model = `test/${path}`) {
  const { finish, tokens } = await ask(model, `/${path}`);
  t.equal(finish, "length");
  const rules = await until(
    async () =>
      (await admin(url, "GET /rate-limits")).body.rate_limits.filter(
        ({ subject }) => subject === `/${path}`,
      ),
    ([rule]) => rule !== undefined && rule.tokens_used > 0,
  );
  const charged = rules[0]!.tokens_used;
  t.ok(charged >= 0.99 * maxTokens, `${charged} are charged`);
  t.ok(charged <= maxTokens + onItsWay, `${charged} are charged`);
  return { tokens };
}

t.test("of a provider that reports its tokens as they flow", async (t) => {
  Object.assign(provider, { reports: "as they flow", token: "я" });
  const { tokens } = await useAll(t, "reported");
  t.ok(tokens <= maxTokens + onItsWay, `dense text: ${tokens}`);
});

t.test("of a provider that doesn't", async (t) => {
  Object.assign(provider, { reports: "never", token: "four" });
  const { tokens } = await useAll(t, "estimated");
  t.ok(tokens <= maxTokens + onItsWay, `${tokens}`);
});

t.test("of dense text, of which Sluice knows nothing", async (t) => {
  Object.assign(provider, { reports: "never", token: "я" });
  const { tokens } = await useAll(t, "dense");
  t.ok(tokens <= 2 * maxTokens + onItsWay, `4 bytes are 2 tokens: ${tokens}`);
});

t.test("of dense text, once answers of the model were", async (t) => {
  Object.assign(provider, { reports: "at the end", token: "я", tokensMax: 2000 });
  for (let i = 0; i < 3; i++) t.equal((await ask("test/learned", "/large")).finish, "stop");
  Object.assign(provider, { reports: "never", tokensMax: 50_000 });
  const { tokens } = await useAll(t, "learned");
  t.ok(tokens <= 1.1 * maxTokens + onItsWay, `${tokens}`);
});

t.test("of a stream whose first provider failed", async (t) => {
  Object.assign(provider, { reports: "never", token: "four" });
  const { tokens } = await useAll(t, "failed", "either");
  t.ok(tokens <= maxTokens + onItsWay, `${tokens}`);
});
