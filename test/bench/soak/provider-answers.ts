/**
 * What the soak's provider says: an answer in the dialect that it is asked in, whole or in pieces.
 * Pure.
 */
import { answerOf, tokensOf } from "./mix.js";

export type ProviderDialect = "chat" | "messages" | "embeddings";

export interface Asked {
  readonly n: number | null;
  readonly dialect: ProviderDialect;
}

/** What the provider knows of a request, in a byte. */
export const marks = { called: 1, answered: 2, answeredTwice: 4, struck: 8 } as const;

const created = 1_767_225_600;

export function wholeAnswer({ n, dialect }: Asked): string {
  const { input, output } = tokensOf(n);
  const text = answerOf(n);
  if (dialect === "messages")
    return JSON.stringify({
      id: `msg_${n}`,
      type: "message",
      role: "assistant",
      model: "chat",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: input, output_tokens: output },
    });
  if (dialect === "embeddings")
    return JSON.stringify({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25, n ?? 0] }],
      model: "embed",
      usage: { prompt_tokens: input, total_tokens: input },
    });
  return JSON.stringify({
    id: `chatcmpl-${n}`,
    object: "chat.completion",
    created,
    model: "chat",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: usage(input, output),
  });
}

/** The pieces of a stream: the first one has its text, the last one its usage. */
export function streamedAnswer({ n, dialect }: Asked, words: number): readonly string[] {
  const { input, output } = tokensOf(n);
  const texts = [answerOf(n), ...new Array<string>(words).fill(" word")];
  if (dialect === "messages") return messageEvents(n, texts, { input, output });
  const chunk = (fields: object): string =>
    `data: ${JSON.stringify({ id: `chatcmpl-${n}`, object: "chat.completion.chunk", created, model: "chat", ...fields })}\n\n`;
  const choice = (delta: object, reason: string | null): object => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  return [
    ...texts.map((content) => chunk(choice({ content }, null))),
    `${chunk(choice({}, "stop"))}${chunk({ choices: [], usage: usage(input, output) })}data: [DONE]\n\n`,
  ];
}

function usage(input: number, output: number): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function messageEvents(
  n: number | null,
  texts: readonly string[],
  { input, output }: { readonly input: number; readonly output: number },
): readonly string[] {
  const event = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const message = {
    id: `msg_${n}`,
    type: "message",
    role: "assistant",
    model: "chat",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: 1 },
  };
  const begin =
    event({ type: "message_start", message }) +
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const end =
    event({ type: "content_block_stop", index: 0 }) +
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: output },
    }) +
    event({ type: "message_stop" });
  return [
    ...texts.map(
      (text, i) =>
        (i === 0 ? begin : "") +
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
    ),
    end,
  ];
}
