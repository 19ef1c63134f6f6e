/** The official OpenAI SDK as a client of real processes. */
import OpenAI from "openai";
import t from "tap";
import { admin, until } from "../support/client.js";
import { makeSite } from "../support/processes.js";
import { beginStream, chunk, completion, startScriptedUpstream, usageChunk } from "../support/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(t, `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: [gpt-test] } }
rate_limits: { user_paths: [{ path: /, limits: [{ period: concurrent, max_requests: 10 }] }] }
`, { SLUICE_MASTER_KEY: "master" });
await site.startDaemon();
const proxy = await site.startProxy();
const sdk = (path: string, maxRetries = 0) => new OpenAI({ baseURL: `${proxy.ready}/v1`, apiKey: "master", maxRetries, defaultHeaders: { "x-sluice-user-path": path } });
const messages = [{ role: "user" as const, content: "hi" }];

t.test("models are listed, a plain completion comes whole", async (t) => {
  const listed = await sdk("/").models.list();
  t.same(listed.data.map((model) => model.id), ["test/gpt-test"]);
  upstream.answer = (call) => void call.response.writeHead(200, { "content-type": "application/json" }).end(completion(12, "good day"));
  const answer = await sdk("/").chat.completions.create({ model: "gpt-test", messages });
  t.equal(answer.choices[0]?.message.content, "good day");
  t.equal(answer.usage?.total_tokens, 12);
});

t.test("a stream comes piece by piece", async (t) => {
  upstream.answer = (call) => void beginStream(call).end(`${chunk("good ")}${chunk("day")}${chunk("", "stop")}${usageChunk(5)}data: [DONE]\n\n`);
  const pieces: string[] = [];
  for await (const part of await sdk("/").chat.completions.create({ model: "test/gpt-test", messages, stream: true })) pieces.push(part.choices[0]!.delta.content ?? "");
  t.equal(pieces.join(""), "good day");
});

t.test("an aborted stream gives its slot back", async (t) => {
  upstream.answer = (call) => void beginStream(call).write(chunk("never ends"));
  const called = upstream.nextCall();
  const stream = await sdk("/").chat.completions.create({ model: "gpt-test", messages, stream: true });
  for await (const part of stream) {
    t.equal(part.choices[0]?.delta.content, "never ends");
    stream.controller.abort();
  }
  await (await called).abandoned;
  const bearer = { authorization: "Bearer master" };
  await until(async () => (await admin(proxy.ready, "GET", "/rate-limits", undefined, bearer)).body.rate_limits[0]!, (rule) => rule.in_flight === 0);
});

t.test("a 429 is waited out by the SDK's own retries", async (t) => {
  upstream.answer = (call) => void call.response.writeHead(200, { "content-type": "application/json" }).end(completion(1));
  const put = await admin(proxy.ready, "PUT", "/rate-limits", { user_path: "/slow", limit_key: { period_seconds: 1 }, max_requests: 1 }, { authorization: "Bearer master" });
  t.equal(put.status, 200);
  const patient = sdk("/slow", 4);
  for (let i = 0; i < 3; i++) t.ok(await patient.chat.completions.create({ model: "gpt-test", messages }), `request ${i + 1} is answered in the end`);
  const impatient = sdk("/slow");
  await t.rejects(
    (async () => {
      for (let i = 0; i < 5; i++) await impatient.chat.completions.create({ model: "gpt-test", messages });
    })(),
    { status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" },
  );
});

t.test("a wrong key and an unknown model are the SDK's own errors", async (t) => {
  await t.rejects(new OpenAI({ baseURL: `${proxy.ready}/v1`, apiKey: "wrong", maxRetries: 0 }).models.list(), { status: 401, code: null, message: "401 authentication failed" });
  await t.rejects(sdk("/").chat.completions.create({ model: "nope", messages }), { status: 404, code: "model_not_found" });
});

