/**
 * An alias that its provider moves from model to model: from its first answer on, which says what
 * has executed, a request by it is one for that model, and the provider still gets the alias.
 */
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  type ReceivedRequest,
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
/** What the provider says has executed. */
let executes = "gemini-2.5-flash";
const sent: string[] = [];
provider.answer = (received) => void answer(received);

/** By Gemini's own API in its path, else as OpenAI's. */
async function answer(received: ReceivedRequest): Promise<void> {
  const { model, stream } = JSON.parse(await received.body) as Record<string, unknown>;
  const path = received.request.url ?? "";
  sent.push(/models\/([^:]+):/.exec(path)?.[1] ?? String(model));
  if (path.includes(":generateContent"))
    // Arguments of a call are the client's, whatever their names.
    return replyJson(received, {
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ functionCall: { name: "f", args: { modelVersion: "gemini-free" } } }],
          },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: executes,
    });
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
  const message = { role: "assistant", content: '{"model":"free","modelVersion":"free"}' };
  const head = { id: "1", created: 1, model: executes };
  if (stream !== true)
    return replyJson(received, {
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    });
  const chunk = { ...head, object: "chat.completion.chunk" };
  const choices = [{ index: 0, delta: message, finish_reason: "stop" }];
  received.response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of [
    { ...chunk, choices },
    { ...chunk, choices: [], usage },
  ])
    received.response.write(`data: ${JSON.stringify(event)}\n\n`);
  received.response.end("data: [DONE]\n\n");
}

const bearer = { authorization: `Bearer ${masterKey}` };

async function start(t: Test): Promise<string> {
  const site = makeSite(
    t,
    `
server: { passthrough: all }
providers:
  gemini: { type: gemini, base_url: "${provider.origin}/v1beta/openai", api_key: k, models: [gemini-2.5-flash, gemini-3-flash, gemini-flash-latest] }
  openrouter: { type: openai, base_url: "${provider.origin}/v1", api_key: k, models: [google/gemini-2.5-flash] }
virtual_models:
  quick: { targets: [{ model: gemini/gemini-flash-latest }] }
prices:
  gemini/gemini-2.5-flash: { input: 1, output: 1 }
  gemini/gemini-3-flash: { input: 2, output: 2 }
`,
    { SLUICE_MASTER_KEY: masterKey },
  );
  await site.startDaemon();
  return (await site.startProxy()).ready;
}

async function post(url: string, body: object, key = masterKey): Promise<number> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}

const messages = [{ role: "user", content: "hi" }];
const google = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };

async function limit(url: string, subject: string, requests: number): Promise<void> {
  const limit_key = { period_seconds: agesSeconds };
  const rule = { scope: "model", subject, max_requests: requests, limit_key };
  await admin(url, "PUT /rate-limits", rule, bearer);
}

t.test("from the first answer on, rules on the model refuse requests by the alias", async (t) => {
  const url = await start(t);
  const chat = `${url}/v1/chat/completions`;
  await limit(url, "gemini/gemini-2.5-flash", 1);
  const native = `${url}/v1beta/models/gemini-flash-latest:generateContent`;
  const made = await admin(
    url,
    "POST /auth-keys",
    { name: "k", user_path: "/k", models: ["gemini-flash-latest"] },
    bearer,
  );
  const { value } = made.body as unknown as { readonly value: string };
  t.equal(await post(native, google, value), 200, "not yet known");
  t.equal(await post(native, google, value), 200, "the rule's one, by a list that has the alias");
  for (const model of ["gemini-flash-latest", "gemini/gemini-flash-latest", "quick"])
    t.equal(await post(chat, { model, messages }), 429, model);
  t.equal(await post(native, google), 429, "by Gemini's own API");
  t.equal(await post(chat, { model: "gemini-2.5-flash", messages }), 429);
  t.same(sent.splice(0), ["gemini-flash-latest", "gemini-flash-latest"]);
  const usage = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${value}` } });
  t.match(
    await usage.json(),
    { usage: { total_cost: 0.00004, unpriced_requests: 0 } },
    "both at the price of what answered",
  );
});

t.test("an alias that moves counts as the new model, also by a stream", async (t) => {
  const url = await start(t);
  const chat = `${url}/v1/chat/completions`;
  await limit(url, "gemini/gemini-3-flash", 1);
  const ask = (stream: boolean): Promise<number> =>
    post(chat, { model: "gemini-flash-latest", messages, stream });
  executes = "models/gemini-2.5-flash";
  t.same([await ask(true), await ask(false)], [200, 200]);
  executes = "gemini-3-flash";
  t.same([await ask(true), await ask(false), await ask(false)], [200, 200, 429]);
  t.equal(sent.splice(0).length, 4);
});

t.test("a client that names alternatives doesn't move an alias, nor does a name", async (t) => {
  const url = await start(t);
  const chat = `${url}/v1/chat/completions`;
  const model = "openrouter/~google/gemini-flash-latest";
  executes = "other/free";
  t.equal(await post(chat, { model, messages, models: ["other/free"] }), 200);
  t.equal(await post(chat, { model: `${model}@preset/x`, messages }), 200);
  await limit(url, "openrouter/other/free", 1);
  t.equal(await post(chat, { model, messages }), 200, "not known from these");
  t.equal(await post(chat, { model, messages }), 200, "the one of the rule");
  t.equal(await post(chat, { model, messages }), 429, "the provider says it");
  executes = "a model";
  t.equal(await post(chat, { model: "openrouter/~x/y-latest", messages }), 200);
  t.equal(await post(chat, { model: "openrouter/~x/y-latest", messages }), 200);
  t.same(sent.splice(0).at(-1), "~x/y-latest");
});
