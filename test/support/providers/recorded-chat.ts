/** Answers of OpenAI's chat completions, field by field as the API gives them. */
import { pieces, type Scene, textOf, tokenCounts, wantedCalls } from "./scene.js";

const usage = {
  prompt_tokens: tokenCounts.input,
  completion_tokens: tokenCounts.output,
  total_tokens: tokenCounts.total,
  prompt_tokens_details: { cached_tokens: tokenCounts.cached, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};

function head(model: string, object: string): object {
  return {
    id: "chatcmpl-CUf3kq",
    object,
    created: 1761000000,
    model,
    service_tier: "default",
    system_fingerprint: "fp_560af6e559",
  };
}

const toolCalls = () =>
  wantedCalls("call").map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));

export function chatCompletion(model: string, scene: Scene): object {
  const base = {
    role: "assistant",
    content: scene === "tools" ? null : textOf(scene),
    refusal: null,
    annotations: [],
  };
  const message = scene === "tools" ? { ...base, tool_calls: toolCalls() } : base;
  return {
    ...head(model, "chat.completion"),
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: scene === "tools" ? "tool_calls" : "stop",
      },
    ],
    usage,
  };
}

/** The events of the same answer, without the last one, `[DONE]`. */
export function chatChunks(model: string, scene: Scene, includeUsage: boolean): object[] {
  const chunk = (delta: object, finishReason: string | null = null) => ({
    ...head(model, "chat.completion.chunk"),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const chunks = [
    chunk({ role: "assistant", content: scene === "tools" ? null : "", refusal: null }),
  ];
  if (scene === "tools") {
    for (const [
      index,
      {
        id,
        type,
        function: { name, arguments: text },
      },
    ] of toolCalls().entries()) {
      chunks.push(chunk({ tool_calls: [{ index, id, type, function: { name, arguments: "" } }] }));
      for (const piece of [text.slice(0, 5), text.slice(5)])
        chunks.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
    chunks.push(chunk({}, "tool_calls"));
  } else {
    for (const piece of pieces(textOf(scene))) chunks.push(chunk({ content: piece }));
    chunks.push(chunk({}, "stop"));
  }
  return includeUsage
    ? [...chunks, { ...head(model, "chat.completion.chunk"), choices: [], usage }]
    : chunks;
}
