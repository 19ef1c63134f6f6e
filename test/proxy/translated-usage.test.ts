import t from "tap";
import { chatToMessages } from "../../proxy/dialects/chat-to-messages.js";
import { composeTranslations } from "../../proxy/dialects/compose-translations.js";
import { messagesToChat } from "../../proxy/dialects/messages-to-chat.js";
import { responsesToChat } from "../../proxy/dialects/responses-to-chat.js";
import type { Translation } from "../../proxy/dialects/translation.js";
import { type Forwarded, forward } from "../../proxy/forward.js";
import { createAnswerTranslator } from "../../proxy/translate-answer.js";
import { translatedUpstream } from "../../proxy/translated-upstream.js";
import type { UpstreamSink } from "../../proxy/upstream.js";
import { context } from "./dialects/samples.js";
import { FakeExchange } from "./fake-exchange.js";

const promptBytes = 400;

interface Script {
  readonly operation: "chat_completions" | "messages" | "responses";
  readonly translation: Translation;
  /** A whole answer, or the events of a stream. */
  readonly said: object | readonly object[];
  /** The client leaves before the end. */
  readonly leaves?: boolean;
}

/** What is charged for a provider's answer that its client gets in another dialect. */
async function chargedFor({ operation, translation, said, leaves = false }: Script): Promise<Forwarded> {
  const exchange = new FakeExchange({ path: `/v1/${operation}` });
  let sink: UpstreamSink | null = null;
  const upstream = { send: (_: unknown, to: UpstreamSink) => ((sink = to), { pause() {}, resume() {}, abort() {} }), redact: (text: string) => text, close: () => Promise.resolve() };
  const translator = createAnswerTranslator(translation, context);
  const request = { method: "POST" as const, path: "/x", headers: [], body: Buffer.from("{}") };
  const promise = forward(exchange, { upstream: translatedUpstream(upstream, translator), provider: "p", request, headers: [], operation, translator, hideUsageChunk: false, promptBytes: () => promptBytes, standIn: false, monoMs: () => 1 });
  const isStream = Array.isArray(said);
  sink!.onHead(200, ["content-type", isStream ? "text/event-stream" : "application/json"]);
  for (const one of isStream ? said : [said]) sink!.onData(Buffer.from(isStream ? `data: ${JSON.stringify(one)}\n\n` : JSON.stringify(one)));
  if (leaves) exchange.leave();
  else sink!.onEnd();
  return promise;
}

const whole = (usage?: unknown): object => ({ id: "c", choices: [{ index: 0, message: { role: "assistant", content: "12345678" }, finish_reason: "stop" }], usage });
const chunks = (usage?: unknown): object[] => [
  { choices: [{ index: 0, delta: { role: "assistant", content: "12345678" }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ...(usage === undefined ? [] : [{ choices: [], usage }]),
];
const told = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 }, cost: 0.25 };
const clients = [{ operation: "messages", translation: messagesToChat }, { operation: "responses", translation: responsesToChat }] as const;

t.test("what a provider tells is charged, with the cost that it names, whatever the client's dialect has words for", async (t) => {
  for (const client of clients) {
    for (const said of [whole(told), chunks(told)]) {
      const { usage, estimated } = await chargedFor({ ...client, said });
      t.match(usage, { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reportedCost: 250_000_000_000 }, client.operation);
      t.equal(estimated, false);
    }
  }
});

t.test("a provider that tells no usage, or nonsense, is charged with an estimate, not with the zeros that a client of Anthropic's is shown", async (t) => {
  for (const client of clients) {
    for (const said of [whole(), chunks(), chunks(null)]) {
      const { usage, estimated, note } = await chargedFor({ ...client, said });
      t.equal(usage!.inputTokens, promptBytes / 4, client.operation);
      t.ok(usage!.outputTokens >= 2);
      t.same([estimated, note], [true, null]);
    }
    for (const said of [whole({ prompt_tokens: -5 }), chunks({ prompt_tokens: -5 })]) {
      t.match(await chargedFor({ ...client, said }), { usage: { inputTokens: promptBytes / 4 }, estimated: true, note: /^usage not charged: prompt_tokens/ }, client.operation);
    }
  }
});

t.test("a client that leaves a translated stream is charged with what was seen", async (t) => {
  for (const client of clients) {
    t.match(await chargedFor({ ...client, said: chunks().slice(0, 1), leaves: true }), { usage: { inputTokens: promptBytes / 4, outputTokens: 2 }, estimated: true, outcome: "client_gone" }, client.operation);
  }
});

const begun = [
  { type: "message_start", message: { id: "m", role: "assistant", usage: { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "12345678" } },
];

t.test("of a cut stream of Anthropic's the input is known from its start; the output is guessed", async (t) => {
  const throughChat = composeTranslations(responsesToChat, chatToMessages);
  for (const client of [{ operation: "chat_completions", translation: chatToMessages }, { operation: "responses", translation: throughChat }] as const) {
    t.match(await chargedFor({ ...client, said: begun, leaves: true }), { usage: { inputTokens: 700, cachedInputTokens: 600, outputTokens: 3, totalTokens: 703 }, estimated: true }, client.operation);
  }
});
