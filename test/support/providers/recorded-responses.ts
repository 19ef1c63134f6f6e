/** Answers of OpenAI's Responses API, field by field as the API gives them. */
import { pieces, type Scene, textOf, tokenCounts, wantedCalls } from "./scene.js";

const usage = {
  input_tokens: tokenCounts.input,
  input_tokens_details: { cached_tokens: tokenCounts.cached },
  output_tokens: tokenCounts.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: tokenCounts.total,
};

function outputOf(scene: Scene): object[] {
  if (scene === "tools")
    return wantedCalls("call").map(({ id, name, input }) => ({
      id: id.replace("call", "fc"),
      type: "function_call",
      status: "completed",
      arguments: JSON.stringify(input),
      call_id: id,
      name,
    }));
  return [
    {
      id: "msg_68f0",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", annotations: [], logprobs: [], text: textOf(scene) }],
    },
  ];
}

/** The response object. */
export function responseObject(
  model: string,
  scene: Scene,
  status = "completed",
): Record<string, unknown> {
  return {
    id: "resp_68f0a1",
    object: "response",
    created_at: 1761000000,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model,
    output: status === "completed" ? outputOf(scene) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: true,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: status === "completed" ? usage : null,
    user: null,
    metadata: {},
  };
}

/** The events of the same answer. */
export function responseEvents(model: string, scene: Scene): { readonly type: string }[] {
  const running = responseObject(model, scene, "in_progress");
  const events: { type: string; [field: string]: unknown }[] = [
    { type: "response.created", response: running },
    { type: "response.in_progress", response: running },
  ];
  for (const [output_index, item] of outputOf(scene).entries()) {
    if (scene === "tools") events.push(...callEvents(output_index, item as CallItem));
    else events.push(...textEvents(output_index, item as { id: string }, textOf(scene)));
  }
  events.push({ type: "response.completed", response: responseObject(model, scene) });
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

interface CallItem {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

function callEvents(output_index: number, item: CallItem): { type: string }[] {
  const at = { item_id: item.id, output_index };
  return [
    {
      type: "response.output_item.added",
      output_index,
      item: { ...item, status: "in_progress", arguments: "" },
    },
    ...[item.arguments.slice(0, 4), item.arguments.slice(4)].map((delta) => ({
      type: "response.function_call_arguments.delta",
      ...at,
      delta,
    })),
    {
      type: "response.function_call_arguments.done",
      ...at,
      name: item.name,
      arguments: item.arguments,
    },
    { type: "response.output_item.done", output_index, item },
  ] as { type: string }[];
}

function textEvents(
  output_index: number,
  item: { readonly id: string },
  text: string,
): { type: string }[] {
  const at = { item_id: item.id, output_index, content_index: 0 };
  const part = { type: "output_text", annotations: [], logprobs: [] };
  return [
    {
      type: "response.output_item.added",
      output_index,
      item: { ...item, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...pieces(text).map((delta) => ({
      type: "response.output_text.delta",
      ...at,
      delta,
      logprobs: [],
    })),
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part: { ...part, text } },
    { type: "response.output_item.done", output_index, item },
  ] as { type: string }[];
}
