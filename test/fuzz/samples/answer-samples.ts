/** Answers and streams of providers in every dialect, with their errors, as bytes. */
import type { Operation } from "../../../shared/operation.js";
import {
  chatAnswer,
  chatAnswerAsMessages,
  messagesAnswer,
  messagesAnswerAsChat,
  messagesEvents,
} from "../../proxy/dialects/sample-answers.js";
import { chatChunks, chatCompletion } from "../../support/providers/recorded-chat.js";
import { message, messageEvents } from "../../support/providers/recorded-messages.js";
import { responseEvents, responseObject } from "../../support/providers/recorded-responses.js";

/** An event of a stream: its name, or null, and its data; a text is sent as it is. */
export interface SampleEvent {
  readonly event: string | null;
  readonly data: unknown;
}

/** What a provider speaks. */
export type Spoken = Extract<Operation, "chat_completions" | "messages" | "responses">;

interface Spoke {
  readonly answers: readonly object[];
  readonly streams: readonly (readonly SampleEvent[])[];
}

const scenes = ["greeting", "tools", "thinking"] as const;
const unnamed = (data: unknown): SampleEvent => ({ event: null, data });
const named = (event: { readonly type: string }): SampleEvent => ({
  event: event.type,
  data: event,
});

/** In the forms of OpenAI, Anthropic, Gemini, OpenRouter and older servers. */
const errors: readonly object[] = [
  { error: { message: "Rate limit reached", type: "requests", param: null, code: "rate_limit" } },
  { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  { error: { code: 404, message: "models/x is not found", status: "NOT_FOUND" } },
  [
    {
      error: { code: 400, message: "bad", status: "INVALID_ARGUMENT", details: [{ reason: "x" }] },
    },
  ],
  { object: "error", message: "The model `x` does not exist.", code: 404 },
  { error: "model 'x' not found" },
  { detail: [{ loc: ["body", "n"], msg: "too large" }] },
];

const usages: readonly object[] = [
  { cost: 0.0123, cost_details: { upstream_inference_cost: 0.5 }, is_byok: true },
  { cost_in_usd_ticks: 123_456 },
  { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 20, cachedContentTokenCount: 3 },
];

const chat = scenes.map((scene) => chatCompletion("m", scene));
const billed = { ...chatAnswer, usage: { ...(chatAnswer["usage"] as object), ...usages[0] } };

export const spoken: Readonly<Record<Spoken, Spoke>> = {
  chat_completions: {
    answers: [...chat, chatAnswer, messagesAnswerAsChat, billed, ...usages, ...errors],
    streams: [
      ...scenes.map((scene) => [...chatChunks("m", scene, true).map(unnamed), unnamed("[DONE]")]),
      [unnamed(errors[0])],
      [...chatChunks("m", "greeting", true).slice(0, 2).map(unnamed), unnamed(errors[2])],
    ],
  },
  messages: {
    answers: [
      ...scenes.map((scene) => message("m", scene)),
      messagesAnswer,
      chatAnswerAsMessages,
      ...errors,
    ],
    streams: [
      ...scenes.map((scene) => messageEvents("m", scene).map(named)),
      messagesEvents.map(({ event, data }) => ({ event, data: JSON.parse(data) as unknown })),
      [named(errors[1] as { type: string })],
    ],
  },
  responses: {
    answers: [...scenes.map((scene) => responseObject("m", scene)), ...errors],
    streams: scenes.map((scene) => responseEvents("m", scene).map(named)),
  },
};

/** Events of a realtime session, from the provider. */
export const sessionEvents: readonly object[] = [
  { type: "response.created", response: { id: "r" } },
  { type: "response.text.delta", delta: "hello", response_id: "r" },
  { type: "response.audio.delta", delta: "AAAA" },
  {
    type: "response.done",
    response: {
      usage: {
        total_tokens: 30,
        input_tokens: 10,
        output_tokens: 20,
        input_token_details: { cached_tokens: 4 },
      },
    },
  },
];
