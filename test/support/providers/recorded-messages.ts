/** Answers of Anthropic's Messages API, field by field as the API gives them. */
import {
  pieces,
  type Scene,
  signature,
  textOf,
  thought,
  tokenCounts,
  wantedCalls,
} from "./scene.js";

const usage = {
  input_tokens: tokenCounts.input - tokenCounts.cached - tokenCounts.cacheWritten,
  cache_creation_input_tokens: tokenCounts.cacheWritten,
  cache_read_input_tokens: tokenCounts.cached,
  cache_creation: {
    ephemeral_5m_input_tokens: tokenCounts.cacheWritten,
    ephemeral_1h_input_tokens: 0,
  },
  output_tokens: tokenCounts.output,
  service_tier: "standard",
};

interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

function contentOf(scene: Scene): Block[] {
  if (scene === "tools") return wantedCalls("toolu").map((call) => ({ type: "tool_use", ...call }));
  const text = { type: "text", text: textOf(scene) };
  return scene === "thinking" ? [{ type: "thinking", thinking: thought, signature }, text] : [text];
}

const stopReason = (scene: Scene) => (scene === "tools" ? "tool_use" : "end_turn");

export function message(model: string, scene: Scene): object {
  return {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model,
    content: contentOf(scene),
    stop_reason: stopReason(scene),
    stop_sequence: null,
    usage,
  };
}

/** The events of the same answer. */
export function messageEvents(model: string, scene: Scene): { readonly type: string }[] {
  const events: object[] = [
    {
      type: "message_start",
      message: {
        ...message(model, scene),
        content: [],
        stop_reason: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
  ];
  for (const [index, block] of contentOf(scene).entries()) {
    events.push({ type: "content_block_start", index, content_block: emptyOf(block) });
    if (index === 0) events.push({ type: "ping" });
    for (const delta of deltasOf(block)) events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  }
  events.push(
    {
      type: "message_delta",
      delta: { stop_reason: stopReason(scene), stop_sequence: null },
      usage,
    },
    { type: "message_stop" },
  );
  return events as { type: string }[];
}

function emptyOf(block: Block): object {
  if (block.type === "tool_use") return { ...block, input: {} };
  return block.type === "thinking"
    ? { type: "thinking", thinking: "", signature: "" }
    : { type: "text", text: "" };
}

function deltasOf(block: Block): object[] {
  if (block.type === "tool_use") {
    const text = JSON.stringify(block["input"]);
    return ["", text.slice(0, 6), text.slice(6)].map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
  }
  if (block.type === "thinking")
    return [
      ...pieces(thought).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature },
    ];
  return pieces(String(block["text"])).map((text) => ({ type: "text_delta", text }));
}
