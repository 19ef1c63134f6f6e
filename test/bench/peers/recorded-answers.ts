/** What the benchmark's provider answers, in the shapes and sizes in which real ones do. */
import { benchModel, responseBody } from "../load/chat-exchange.js";

/** The model of the provider that speaks Anthropic's dialect. */
export const messagesModel = "bench-messages-model";
/** The model that a Messages client calls at a provider of OpenAI's dialects. */
export const chatModel = "bench-chat-model";
export const embeddingModel = "bench-embedding-model";

/** A whole answer, or the events of a stream, one piece each. */
export type RecordedAnswer =
  | { readonly kind: "whole"; readonly body: string }
  | { readonly kind: "stream"; readonly events: readonly string[] };

/** Events of a streamed answer, all of them. */
const streamEvents = 200;

const words =
  " Please write to the carrier first, with the number from your shipping mail; the page Orders shows it.".split(
    /(?= )/,
  );

/** By the path below the provider's `/v1`, with `?stream` for a stream. */
export const recordedAnswers: Readonly<Record<string, RecordedAnswer>> = {
  "/chat/completions": { kind: "whole", body: responseBody },
  "/chat/completions?stream": { kind: "stream", events: chatEvents() },
  "/messages": { kind: "whole", body: messagesBody() },
  "/messages?stream": { kind: "stream", events: messagesEvents() },
  "/embeddings": { kind: "whole", body: embeddingsBody() },
  "/embeddings?many": { kind: "whole", body: embeddingsBody(256, "base64") },
  "/embeddings?numbers": { kind: "whole", body: embeddingsBody(64, "float") },
};

function wordAt(i: number): string {
  return words[i % words.length]!;
}

/** A role, text, a reason to finish, usage, and the end: some 230 bytes an event. */
function chatEvents(): string[] {
  const chunk = (choices: readonly object[], usage: object | null): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-9fQ2mX7cVb1LtR4sKd8ZyHwEoJ3aN", object: "chat.completion.chunk", created: 1_750_000_000, model: benchModel, service_tier: "default", system_fingerprint: "fp_2f1a09c7d4", choices, usage })}\n\n`;
  const choice = (delta: object, finishReason: string | null): string =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: finishReason }], null);
  const texts = Array.from({ length: streamEvents - 4 }, (_, i) =>
    choice({ content: wordAt(i) }, null),
  );
  const usage = chunk([], {
    prompt_tokens: 74,
    completion_tokens: texts.length,
    total_tokens: 74 + texts.length,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  });
  return [
    choice({ role: "assistant", content: "", refusal: null }, null),
    ...texts,
    choice({}, "stop"),
    usage,
    "data: [DONE]\n\n",
  ];
}

function messagesBody(): string {
  return JSON.stringify({
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: messagesModel,
    content: [
      {
        type: "text",
        text: "Please write to the carrier first, with the number from your shipping mail; the page Orders > Track shows it. If the parcel is declared lost, we refund you in full within five days, see Help > Refunds.",
      },
    ],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: 74,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 46,
      service_tier: "standard",
    },
  });
}

/** As short as they come: some 120 bytes an event. */
function messagesEvents(): string[] {
  const event = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const usage = {
    input_tokens: 74,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
    service_tier: "standard",
  };
  const texts = Array.from({ length: streamEvents - 6 }, (_, i) =>
    event({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: wordAt(i) },
    }),
  );
  return [
    event({
      type: "message_start",
      message: {
        id: "msg_01XFDUDYJgAACzvnptvVoYEL",
        type: "message",
        role: "assistant",
        model: messagesModel,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    event({ type: "ping" }),
    ...texts,
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: texts.length },
    }),
    event({ type: "message_stop" }),
  ];
}

/**
 * Vectors of 1,536 numbers: 8 kB each in base64, as the official SDKs ask for them, and 31 kB as
 * numbers.
 */
function embeddingsBody(vectors = 1, form: "base64" | "float" = "base64"): string {
  const numbers = Float32Array.from({ length: 1536 }, (_, i) => Math.sin(i * 12.9898) / 40);
  const embedding =
    form === "float" ? [...numbers] : Buffer.from(numbers.buffer).toString("base64");
  const tokens = vectors === 1 ? 31 : 31 * 256;
  return JSON.stringify({
    object: "list",
    data: Array.from({ length: vectors }, (_, index) => ({
      object: "embedding",
      index,
      embedding,
    })),
    model: embeddingModel,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}
