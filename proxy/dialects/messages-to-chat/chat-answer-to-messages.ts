/** Translates a complete chat completion to an Anthropic message. */
import { isObject } from "../../../shared/checked.js";
import {
  answeredChoice,
  type CallPiece,
  type ChatPiece,
  type Citation,
  chatPieces,
  imageAsText,
  namelessCall,
} from "../shared/chat-pieces.js";
import { stopFields, stopReason, stopSequence } from "../shared/stop-reasons.js";
import { noSignature } from "../shared/thinking-blocks.js";
import { readToolInput, ToolNames } from "../shared/tool-call.js";
import { messagesUsage } from "../shared/translate-usage.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { UniqueIds } from "../shared/unique-ids.js";

/** Throws `UntranslatableAnswer`. */
export function chatAnswerToMessages(body: JsonObject, context: AnswerContext): JsonObject {
  const choice = answeredChoice(body);
  if (!isObject(choice?.["message"]))
    throw new UntranslatableAnswer(
      "the provider's answer is not a chat completion: it has no message",
    );
  const pieces = chatPieces(choice, "message", context.provider);
  const texts = pieces.filter((piece) => piece.kind === "text").filter(({ text }) => text !== "");
  const images = pieces.filter((piece) => piece.kind === "image");
  const citations = pieces.filter((piece) => piece.kind === "citation");
  const calls = pieces.filter((piece) => piece.kind === "call");
  const ids = new UniqueIds();
  const isCut = choice["finish_reason"] === "length";
  const refusal = joinedText(pieces, "refusal") || null;
  return {
    id: messagesId(body["id"], context),
    type: "message",
    role: "assistant",
    model: context.model,
    content: [
      ...thinkingBlocks(pieces),
      ...texts.map(({ text }, i) => ({
        type: "text",
        text,
        ...(i === texts.length - 1 && citations.length > 0
          ? { citations: citations.map(({ citation }) => citedPage(citation)) }
          : {}),
      })),
      ...images.map(({ url }) => ({ type: "text", text: imageAsText(url) })),
      ...calls.map((call, i) => ({
        type: "tool_use",
        id: ids.of(toolUseId(call, i, context)),
        ...calledTool(call, isCut, context),
      })),
    ],
    ...stopFields(
      stopReason(choice["finish_reason"], calls.length > 0, refusal !== null),
      stopSequence(choice),
    ),
    stop_details: stopDetails(refusal),
    usage: messagesUsage(body["usage"], body["service_tier"]),
  };
}

/** A page that the text cites. Other hosts encrypt no place in it, which Anthropic wants back. */
export function citedPage({ url, title }: Citation): JsonObject {
  return {
    type: "web_search_result_location",
    url,
    title,
    encrypted_index: noSignature,
    cited_text: "",
  };
}

/** Keeps the upstream's own id, by which the answer can be found there. */
export function messagesId(id: unknown, context: AnswerContext): string {
  return typeof id === "string" && id !== "" ? id : `msg_${context.requestId}`;
}

/** The field in which Anthropic explains a refusal. */
export function stopDetails(refusal: string | null): JsonObject | null {
  return refusal === null ? null : { type: "refusal", category: null, explanation: refusal };
}

function joinedText(pieces: readonly ChatPiece[], kind: "reasoning" | "refusal"): string {
  return pieces.reduce((text, piece) => (piece.kind === kind ? text + piece.text : text), "");
}

/**
 * The signed and encrypted blocks, and one unsigned block with the thoughts that none of them
 * contains.
 */
function thinkingBlocks(pieces: readonly ChatPiece[]): readonly JsonObject[] {
  const signed = pieces.filter((piece) => piece.kind === "signed").map(({ block }) => block);
  const thoughts = joinedText(pieces, "reasoning");
  if (thoughts === "" || signed.some(({ type }) => type === "thinking")) return signed;
  return [{ type: "thinking", thinking: thoughts, signature: noSignature }, ...signed];
}

/**
 * A call that the token limit cut off gets an empty input, as at Anthropic. The stop reason
 * `max_tokens` tells the client not to run it.
 */
function calledTool(call: CallPiece, isCut: boolean, context: AnswerContext): JsonObject {
  const input = readToolInput(call.text) ?? (isCut ? {} : null);
  if (input === null)
    throw new UntranslatableAnswer(
      "the provider's answer calls a tool with arguments that are not a JSON object",
    );
  return { name: toolNames(context).original(calledName(call)), input };
}

/** Some providers send no id, but the client needs one to match the results. */
export function toolUseId({ clientId }: CallPiece, index: number, context: AnswerContext): string {
  return clientId ?? `toolu_${context.requestId}_${index}`;
}

/** The names of the client's tools. Some of them are changed for chat completions. */
export function toolNames({ request }: AnswerContext): ToolNames {
  const { tools } = request;
  return new ToolNames(
    Array.isArray(tools)
      ? tools.map((tool: unknown) => (isObject(tool) ? tool["name"] : undefined))
      : [],
  );
}

/** The name of a called tool, as sent to the provider. */
export function calledName({ name, isCustom }: CallPiece): string {
  if (isCustom)
    throw new UntranslatableAnswer("the provider's answer calls a tool that is not a function");
  if (name === null) throw namelessCall();
  return name;
}
