/** Anthropic's messages, whole and as a stream of events. */
import { signature } from "./messages-rules.js";
import type { Conversation, Reply, Turn } from "./script.js";
import { isJson, type Json, listOf } from "./shape.js";
import { type Numbered, pieces, textIn, toolOffer, usageFor } from "./wording.js";

export function readMessages(body: Json): Conversation {
  const turns = listOf(body["messages"]).flatMap(({ role, content }): Turn[] => {
    if (role === "system") return [];
    if (!Array.isArray(content)) return [{ role: role as Turn["role"], text: textIn(content) }];
    const results = listOf(content).filter(({ type }) => type === "tool_result");
    const said = textIn(content);
    return [
      ...results.map((result): Turn => ({ role: "tool", text: textIn(result["content"]) })),
      ...(said === "" ? [] : [{ role: role as Turn["role"], text: said }]),
    ];
  });
  const choice = body["tool_choice"];
  return {
    turns,
    tools: listOf(body["tools"]).map(({ name, input_schema: schema }) => toolOffer(name, schema)),
    takesParallelCalls: !(isJson(choice) && choice["disable_parallel_tool_use"] === true),
  };
}

function thinks(body: Json): boolean {
  const { thinking } = body;
  return isJson(thinking) && thinking["type"] !== "disabled";
}

function blocksFor(body: Json, reply: Reply, { first }: Numbered): readonly Json[] {
  return [
    ...(thinks(body)
      ? [{ type: "thinking", thinking: reply.reasoning, signature: `${signature}${first}` }]
      : []),
    ...(reply.text === "" ? [] : [{ type: "text", text: reply.text }]),
    ...reply.calls.map(({ tool, input }, i) => ({
      type: "tool_use",
      id: `toolu_01${String(first + i).padStart(22, "kQ8xVm")}`,
      name: tool.name,
      input,
    })),
  ];
}

function usageOf(body: Json, reply: Reply): Json {
  const { input, output, cached } = usageFor(listOf(body["messages"]).length, reply);
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    service_tier: "standard",
  };
}

export function messagesAnswer(body: Json, reply: Reply, numbered: Numbered): Json {
  return {
    id: `msg_01${String(numbered.first).padStart(22, "aB3")}`,
    type: "message",
    role: "assistant",
    model: body["model"],
    content: blocksFor(body, reply, numbered),
    stop_reason:
      reply.isCut === true ? "max_tokens" : reply.calls.length === 0 ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: usageOf(body, reply),
  };
}

export function messagesEvents(body: Json, reply: Reply, numbered: Numbered): readonly Json[] {
  const whole = messagesAnswer(body, reply, numbered);
  const usage = whole["usage"] as Json;
  const start = { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const events: Json[] = [{ type: "message_start", message: start }, { type: "ping" }];
  for (const [index, block] of listOf(whole["content"]).entries()) {
    const [begun, deltas] = inDeltas(block);
    events.push(
      { type: "content_block_start", index, content_block: begun },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    );
  }
  const { stop_reason, stop_sequence } = whole;
  events.push(
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
    { type: "message_stop" },
  );
  return events;
}

function inDeltas(block: Json): readonly [Json, readonly Json[]] {
  switch (block["type"]) {
    case "thinking":
      return [
        { ...block, thinking: "", signature: "" },
        [
          ...pieces(String(block["thinking"])).map((thinking) => ({
            type: "thinking_delta",
            thinking,
          })),
          { type: "signature_delta", signature: block["signature"] },
        ],
      ];
    case "tool_use":
      return [
        { ...block, input: {} },
        ["", ...pieces(JSON.stringify(block["input"]))].map((partial_json) => ({
          type: "input_json_delta",
          partial_json,
        })),
      ];
    default:
      return [
        { ...block, text: "" },
        pieces(String(block["text"])).map((text) => ({ type: "text_delta", text })),
      ];
  }
}
