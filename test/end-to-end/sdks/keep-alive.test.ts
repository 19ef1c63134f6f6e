/**
 * Streams that are kept alive while a model thinks, with the official SDKs as clients: they read
 * the answer as ever, fail over as ever, and are told of an error in the stream.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import {
  type ReceivedCall,
  replyError,
  replyStream,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const thinking = await startScriptedUpstream();
const other = await startScriptedUpstream();
t.teardown(() => Promise.all([thinking.close(), other.close()]));
const site = makeSite(
  t,
  `
server: { stream_keep_alive_seconds: 0.1 }
providers:
  one: { type: openai, base_url: "${thinking.baseUrl}", api_key: none, models: [a], operations: [chat_completions], retries: 0, breaker_failures: 0 }
  two: { type: openai, base_url: "${other.baseUrl}", api_key: none, models: [b], retries: 0, breaker_failures: 0 }
virtual_models:
  smart: { strategy: failover, targets: [{ model: one/a }, { model: two/b }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
/** Ends the thought of the first provider. */
let answerNow = (): void => {};
/** As a client hears it: the model thinks until two keep-alives have arrived. */
const hearing: typeof fetch = async (...request) => {
  const response = await fetch(...request);
  const decoder = new TextDecoder();
  let text = "";
  const heard = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      text += decoder.decode(piece, { stream: true });
      controller.enqueue(piece);
      if (text.split("\n\n").length > 2) answerNow();
    },
  });
  return new Response(response.body!.pipeThrough(heard), response);
};
const sdk = { apiKey: "none", maxRetries: 0, fetch: hearing };
const openai = new OpenAI({ baseURL: `${url}/v1`, ...sdk });
const anthropic = new Anthropic({ baseURL: url, ...sdk });
const messages = [{ role: "user" as const, content: "hi" }];
const input = "hi";

/** What the first provider does with the next calls, once it has thought. */
function afterThought(answer: (call: ReceivedCall) => void): void {
  thinking.answer = (call) => {
    answerNow = () => {
      answerNow = () => {};
      answer(call);
    };
  };
}

other.answer = replyStream;

t.test("the client's stream is alive while the model thinks, and fails over then", async (t) => {
  afterThought(replyError);
  const response = await hearing(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "smart", messages, stream: true }),
  });
  t.equal(response.status, 200);
  t.equal(response.headers.get("content-type"), "text/event-stream");
  t.match(
    await response.text(),
    /^(: keep-alive\n\n){2,}data: .*hello.*\n\n[^]*data: \[DONE\]\n\n$/,
  );
  const text = openai.chat.completions.create({ model: "smart", messages, stream: true });
  let said = "";
  for await (const { choices } of await text) said += choices[0]?.delta.content ?? "";
  t.equal(said, "hello");
});

t.test("the SDKs take keep-alives as such, in each dialect", async (t) => {
  afterThought(replyStream);
  const message = anthropic.messages
    .stream({ model: "one/a", max_tokens: 9, messages })
    .finalText();
  t.equal(await message, "hello");
  const response = openai.responses.stream({ model: "one/a", input }).finalResponse();
  t.equal((await response).output_text, "hello");
});

t.test("an error after a keep-alive is thrown by the SDKs, with its message", async (t) => {
  afterThought(replyError);
  const chat = openai.chat.completions.create({ model: "one/a", messages, stream: true });
  const read = async (): Promise<void> => {
    for await (const event of await chat) t.fail(JSON.stringify(event));
  };
  await t.rejects(read(), { message: /out of thoughts/ });
  const message = anthropic.messages.stream({ model: "one/a", max_tokens: 9, messages });
  const finalText = message.finalText();
  await t.rejects(finalText, { message: /out of thoughts/ });
  const response = openai.responses.create({ model: "one/a", input, stream: true });
  const events = async (): Promise<void> => {
    for await (const event of await response) t.match(event, { type: "error" });
  };
  await t.rejects(events(), { message: /out of thoughts/ });
});
