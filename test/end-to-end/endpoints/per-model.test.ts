/** What the operator says of requests to some models, as their provider sees it. */
import t from "tap";
import { chat } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const provider = await startScriptedUpstream();
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
providers:
  one:
    type: openai
    base_url: "${provider.baseUrl}"
    api_key: none
    models: [thinker, quick, slow]
    operations: [chat_completions]
    retries: 0
    breaker_failures: 0
    per_model:
      - { models: [thinker], set: { temperature: 1 }, defaults: { seed: 7 }, drop: [user] }
      - { models: [quick], first_byte_timeout_ms: 150 }
      - { models: [slow], total_timeout_ms: 300 }
virtual_models:
  healed: { strategy: failover, targets: [{ model: one/slow }, { model: one/thinker }] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

t.test("fields are set, added and left out, translated or not", async (t) => {
  const own = await chat(url, { model: "thinker", temperature: 0.1, user: "ann" });
  t.equal(own.status, 200);
  t.equal(own.headers.get("x-sluice-dropped"), "user");
  t.match(JSON.parse(provider.calls.at(-1)!.body), { model: "thinker", temperature: 1, seed: 7 });
  t.notMatch(provider.calls.at(-1)!.body, /user"\s*:\s*"ann/);
  const translated = await fetch(`${url}/v1/messages`, {
    method: "POST",
    body: JSON.stringify({
      model: "thinker",
      max_tokens: 9,
      messages: [{ role: "user", content: "hi" }],
      temperature: 0.5,
    }),
  });
  t.equal(translated.status, 200);
  t.match(JSON.parse(provider.calls.at(-1)!.body), { temperature: 1, seed: 7 });
  await chat(url, { model: "quick", temperature: 0.1, user: "ann" });
  t.match(JSON.parse(provider.calls.at(-1)!.body), { temperature: 0.1, user: "ann" });
});

t.test("each model has its own deadlines", async (t) => {
  provider.answer = () => {};
  const late = await chat(url, { model: "quick" });
  t.equal(late.status, 504);
  t.match(await late.json(), { error: { message: /silent past its deadline/ } });
  await proxy.printed(/no response for 150 ms/);
  const endless = await chat(url, { model: "slow" });
  t.equal(endless.status, 504);
  await endless.text();
  await proxy.printed(/no end of the response after 300 ms/);
  // It says something all the time, and never ends.
  provider.answer = (call) => {
    const stream = beginStream(call);
    const timer = setInterval(() => stream.write(chunk("more ")), 20);
    void call.abandoned.then(() => clearInterval(timer));
  };
  const cut = await chat(url, { model: "slow", stream: true });
  t.equal(cut.status, 200);
  await t.rejects(cut.text());
  await proxy.printed(/"upstream_cut".*no end of the response after 300 ms/);
});

t.test("another target takes over from one that takes too long", async (t) => {
  provider.answer = (call) => {
    if (call.body.includes('"thinker"')) replyCompletion(call, 5);
  };
  const healed = await chat(url, { model: "healed" });
  t.equal(healed.status, 200);
  t.equal(healed.headers.get("x-sluice-target"), "one/thinker");
});
