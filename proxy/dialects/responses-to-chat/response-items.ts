/**
 * The items of a response's `output`, and the parts of their content, in the form of the Responses
 * API. `response-builder.ts` fills them in.
 */
import type { Logprob } from "../shared/chat-pieces.js";
import type { JsonObject } from "../shared/translation.js";
import type { ClientTool } from "./client-tools.js";

type TextPart = {
  readonly type: "output_text";
  readonly annotations: JsonObject[];
  readonly logprobs: Logprob[];
  text: string;
};

type RefusalPart = { readonly type: "refusal"; refusal: string };

type ReasoningPart = { readonly type: "reasoning_text"; text: string };

export type ContentPart = TextPart | RefusalPart | ReasoningPart;

export type ItemStatus = "in_progress" | "completed" | "incomplete";

type ItemBase = { readonly id: string; status: ItemStatus };

export type MessageItem = ItemBase & {
  readonly type: "message";
  readonly role: "assistant";
  readonly content: (TextPart | RefusalPart)[];
};

export type ReasoningItem = ItemBase & {
  readonly type: "reasoning";
  readonly summary: readonly never[];
  readonly content: ReasoningPart[];
  /** Set for clients that requested it, and send it back; see `kept-reasoning.ts`. */
  encrypted_content?: string;
};

export type ContentItem = MessageItem | ReasoningItem;

type CallBase = ItemBase & {
  readonly call_id: string;
  readonly name: string;
  /** The namespace of the client's tool, if it has one. */
  readonly namespace?: string;
};

type FunctionCallItem = CallBase & { readonly type: "function_call"; arguments: string };

type CustomCallItem = CallBase & { readonly type: "custom_tool_call"; input: string };

export type CallItem = FunctionCallItem | CustomCallItem;

/** The summary of a conversation, for the input of later requests. */
type CompactionItem = {
  readonly id: string;
  readonly type: "compaction";
  readonly encrypted_content: string;
};

/** A picture, as the tool of the Responses API gives it. */
type ImageItem = {
  readonly id: string;
  readonly type: "image_generation_call";
  readonly status: "completed";
  readonly result: string;
};

/** An item that is filled in piece by piece. */
export type OpenItem = ContentItem | CallItem;

export type OutputItem = OpenItem | CompactionItem | ImageItem;

export function isCall(item: OpenItem | null): item is CallItem {
  return item?.type === "function_call" || item?.type === "custom_tool_call";
}

export function messageItem(id: string): MessageItem {
  return { id, type: "message", status: "in_progress", role: "assistant", content: [] };
}

export function reasoningItem(id: string): ReasoningItem {
  return { id, type: "reasoning", status: "in_progress", summary: [], content: [] };
}

/** `tool`: the client's own name and namespace of the called tool. */
export function callItem(
  id: string,
  callId: string,
  { name, namespace, isCustom }: ClientTool,
): CallItem {
  const base = {
    id,
    status: "in_progress" as const,
    call_id: callId,
    name,
    ...(namespace === null ? {} : { namespace }),
  };
  return isCustom
    ? { ...base, type: "custom_tool_call", input: "" }
    : { ...base, type: "function_call", arguments: "" };
}

export function textPart(): TextPart {
  return { type: "output_text", annotations: [], logprobs: [], text: "" };
}

export function reasoningPart(): ReasoningPart {
  return { type: "reasoning_text", text: "" };
}

export function refusalPart(): RefusalPart {
  return { type: "refusal", refusal: "" };
}
