/** Answers of OpenAI's chat completions in the form in which it gives them. */
import { pieces, type Scene, textOf, told, wantedCalls } from "./scene.js";

const usage = {
  prompt_tokens: told.input,
  completion_tokens: told.output,
  total_tokens: told.total,
  prompt_tokens_details: { cached_tokens: told.cached, audio_tokens: 0 },
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
  const said = {
    role: "assistant",
    content: scene === "tools" ? null : textOf(scene),
    refusal: null,
    annotations: [],
  };
  const message = scene === "tools" ? { ...said, tool_calls: toolCalls() } : said;
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
