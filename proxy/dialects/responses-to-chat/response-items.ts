/**
 * The items of a response's `output`, and the parts of their content, as the Responses API has
 * them. `response-builder.ts` fills them in.
 */
import type { Logprob } from "../translation/chat-pieces.js";

export type TextPart = {
  readonly type: "output_text";
  readonly annotations: readonly never[];
  readonly logprobs: Logprob[];
  text: string;
};

export type RefusalPart = { readonly type: "refusal"; refusal: string };

export type ReasoningPart = { readonly type: "reasoning_text"; text: string };

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
};

export type ContentItem = MessageItem | ReasoningItem;

type CallBase = ItemBase & { readonly call_id: string; readonly name: string };

type FunctionCallItem = CallBase & { readonly type: "function_call"; arguments: string };

type CustomCallItem = CallBase & { readonly type: "custom_tool_call"; input: string };

export type CallItem = FunctionCallItem | CustomCallItem;

export type OutputItem = ContentItem | CallItem;

export function isCall(item: OutputItem | null): item is CallItem {
  return item?.type === "function_call" || item?.type === "custom_tool_call";
}

export function messageItem(id: string): MessageItem {
  return { id, type: "message", status: "in_progress", role: "assistant", content: [] };
}

export function reasoningItem(id: string): ReasoningItem {
  return { id, type: "reasoning", status: "in_progress", summary: [], content: [] };
}

export function functionCallItem(id: string, callId: string, name: string): FunctionCallItem {
  return {
    id,
    type: "function_call",
    status: "in_progress",
    call_id: callId,
    name,
    arguments: "",
  };
}

export function customCallItem(id: string, callId: string, name: string): CustomCallItem {
  return {
    id,
    type: "custom_tool_call",
    status: "in_progress",
    call_id: callId,
    name,
    input: "",
  };
}

export function textPart(): TextPart {
  return { type: "output_text", annotations: [], logprobs: [], text: "" };
}
