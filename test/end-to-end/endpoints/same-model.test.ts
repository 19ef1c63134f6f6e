/**
 * One model, however its service lets callers write it: rules and keys' lists know it by one name,
 * and the provider gets what the client wrote.
 */
import t from "tap";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const choices = [
  { index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" },
];
const sentModels: unknown[] = [];
provider.answer = (received) =>
  void received.body.then((body) => {
    sentModels.push((JSON.parse(body) as { readonly model: unknown }).model);
    replyJson(received, { id: "1", object: "chat.completion", choices, usage });
  });
const site = makeSite(
  t,
  `
server: { passthrough: all }
providers:
  openrouter: { type: openai, base_url: "${provider.origin}/v1", api_key: k, models: [openai/gpt-4o] }
prices:
  openrouter/openai/gpt-4o: { input: 1, output: 1 }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const bearer = { authorization: `Bearer ${masterKey}` };

async function ask(model: string, key = masterKey, path = "/v1/chat/completions"): Promise<number> {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
  });
  await answer.text();
  return answer.status;
}

t.test("a rule on a model counts every way to write it, and the provider gets that", async (t) => {
  const written = ["openai/gpt-4o:nitro", "openai/GPT-4o:FLOOR", "openai/gpt-4o"];
  const limit = { scope: "model", subject: "openrouter/openai/gpt-4o:exacto", max_requests: 4 };
  await admin(url, "PUT /rate-limits", { ...limit, limit_key: { period: "day" } }, bearer);
  for (const model of written) t.equal(await ask(`openrouter/${model}`), 200, model);
  const passed = "/p/openrouter/v1/chat/completions";
  t.equal(await ask("openai/gpt-4o:online", masterKey, passed), 200);
  t.same(sentModels.splice(0), [
    "openai/gpt-4o:nitro",
    "openai/GPT-4o:FLOOR",
    "openai/gpt-4o",
    "openai/gpt-4o:online",
  ]);
  for (const model of [...written, "openai/gpt-4o@preset/x"])
    t.equal(await ask(`openrouter/${model}`), 429, model);
  t.equal(await ask("openai/gpt-4o:online", masterKey, passed), 429);
  t.equal(await ask("openrouter/openai/gpt-4o:free"), 200, "another product");
  sentModels.splice(0);
});

t.test(
  "a key for a model may write it in any of these ways, and is charged its price",
  async (t) => {
    await admin(url, "POST /rate-limits/reset", { confirmation: "reset" }, bearer);
    const made = await admin(
      url,
      "POST /auth-keys",
      { name: "k", user_path: "/k", models: ["openrouter/openai/gpt-4o"] },
      bearer,
    );
    const { value } = made.body as unknown as { readonly value: string };
    t.equal(await ask("openrouter/openai/gpt-4o:nitro", value), 200);
    t.equal(await ask("openrouter/openai/gpt-4o:free", value), 403);
    for (const preset of ["@preset/x", "@Preset/x", ":nitro@preset/x", "@preset/x:nitro"])
      t.equal(await ask(`openrouter/openai/gpt-4o${preset}`, value), 403, preset);
    const answer = await fetch(`${url}/v1/usage`, {
      headers: { authorization: `Bearer ${value}` },
    });
    t.match(await answer.json(), { usage: { total_cost: 0.00002, unpriced_requests: 0 } });
  },
);
