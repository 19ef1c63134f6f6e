/** Responses, whole and as a stream of events. */
import { encrypted } from "./responses-rules.js";
import type { Conversation, Reply, ToolOffer, Turn } from "./script.js";
import { type Json, listOf } from "./shape.js";
import { type Numbered, pieces, textIn, toolOffer, usageFor } from "./wording.js";

/** `earlier`: the items of the responses before, where the request continues a stored one. */
export function readResponses(body: Json, earlier: readonly Json[]): Conversation {
  const { input } = body;
  const items = typeof input === "string" ? [{ role: "user", content: input }] : listOf(input);
  const turns = [...earlier, ...items].flatMap((item): Turn[] => {
    const { type, role, content, output } = item as Json;
    if (/_output$/.test(String(type))) return [{ role: "tool", text: textIn(output) }];
    if (role === "user" || role === "assistant") return [{ role, text: textIn(content) }];
    return [];
  });
  return {
    turns,
    tools: listOf(body["tools"]).flatMap(offers),
    takesParallelCalls: body["parallel_tool_calls"] !== false,
  };
}

function offers(tool: Json): readonly ToolOffer[] {
  switch (tool["type"]) {
    case "function":
      return [toolOffer(tool["name"], tool["parameters"])];
    case "custom":
      return [{ name: String(tool["name"]), fields: [], isFreeform: true }];
    default:
      return [];
  }
}

export function outputItems(body: Json, reply: Reply, { first }: Numbered): readonly Json[] {
  const keeps = Array.isArray(body["include"])
    ? body["include"].includes("reasoning.encrypted_content")
    : false;
  const thinks = /^gpt-5/.test(String(body["model"]));
  const reasoning = {
    id: `rs_${first}`,
    type: "reasoning",
    summary: [{ type: "summary_text", text: reply.reasoning }],
    ...(keeps ? { encrypted_content: `${encrypted}${first}` } : {}),
  };
  return [
    ...(thinks ? [reasoning] : []),
    {
      id: `msg_${first}`,
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: reply.text, annotations: [], logprobs: [] }],
    },
    ...reply.calls.map(({ tool, input }, i) => ({
      ...(tool.isFreeform === true
        ? { id: `ctc_${first + i}`, type: "custom_tool_call", input: String(input["input"]) }
        : { id: `fc_${first + i}`, type: "function_call", arguments: JSON.stringify(input) }),
      status: "completed",
      call_id: `call_${String(first + i).padStart(24, "Xy7")}`,
      name: tool.name,
    })),
  ];
}

export function responsesAnswer(body: Json, reply: Reply, numbered: Numbered): Json {
  const { input, output, cached, reasoning } = usageFor(
    typeof body["input"] === "string" ? 1 : listOf(body["input"]).length,
    reply,
  );
  return {
    id: `resp_${numbered.first}`,
    object: "response",
    created_at: 1_790_000_000,
    status: reply.isCut === true ? "incomplete" : "completed",
    background: false,
    error: null,
    incomplete_details: reply.isCut === true ? { reason: "max_output_tokens" } : null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    model: body["model"],
    output: outputItems(body, reply, numbered),
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: body["previous_response_id"] ?? null,
    reasoning: body["reasoning"] ?? { effort: null, summary: null },
    service_tier: "default",
    store: body["store"] ?? true,
    temperature: 1,
    text: body["text"] ?? { format: { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: 1,
    truncation: "disabled",
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
    user: null,
    metadata: {},
  };
}

export function responsesEvents(body: Json, reply: Reply, numbered: Numbered): readonly Json[] {
  const whole = responsesAnswer(body, reply, numbered);
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
  ];
  for (const [output_index, item] of listOf(whole["output"]).entries()) {
    const at = { output_index, item_id: item["id"] };
    const added = { ...item, status: "in_progress", ...emptied(item) };
    events.push(
      { type: "response.output_item.added", output_index, item: added },
      ...inEvents(item).map((event): Json => ({ ...at, ...event })),
      { type: "response.output_item.done", output_index, item },
    );
  }
  events.push({ type: `response.${String(whole["status"])}`, response: whole });
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function emptied(item: Json): Json {
  switch (item["type"]) {
    case "message":
      return { content: [] };
    case "reasoning":
      return { summary: [] };
    case "function_call":
      return { arguments: "" };
    default:
      return { input: "" };
  }
}

function inEvents(item: Json): readonly Json[] {
  const part = listOf(item["content"])[0] ?? listOf(item["summary"])[0];
  switch (item["type"]) {
    case "message":
      return [
        { type: "response.content_part.added", content_index: 0, part: { ...part, text: "" } },
        ...pieces(String(part?.["text"])).map((delta) => ({
          type: "response.output_text.delta",
          content_index: 0,
          delta,
          logprobs: [],
        })),
        {
          type: "response.output_text.done",
          content_index: 0,
          text: part?.["text"],
          logprobs: [],
        },
        { type: "response.content_part.done", content_index: 0, part },
      ];
    case "reasoning":
      return [
        {
          type: "response.reasoning_summary_part.added",
          summary_index: 0,
          part: { ...part, text: "" },
        },
        ...pieces(String(part?.["text"])).map((delta) => ({
          type: "response.reasoning_summary_text.delta",
          summary_index: 0,
          delta,
        })),
        {
          type: "response.reasoning_summary_text.done",
          summary_index: 0,
          text: part?.["text"],
        },
        { type: "response.reasoning_summary_part.done", summary_index: 0, part },
      ];
    default: {
      const field = item["type"] === "function_call" ? "arguments" : "input";
      const kind = field === "arguments" ? "function_call_arguments" : "custom_tool_call_input";
      return [
        ...pieces(String(item[field])).map((delta) => ({ type: `response.${kind}.delta`, delta })),
        { type: `response.${kind}.done`, [field]: item[field] },
      ];
    }
  }
}
