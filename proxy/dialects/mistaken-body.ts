/**
 * A body of one of OpenAI's APIs at the path of the other, in the form that the path takes. Cursor
 * sends the Responses API's body to `/v1/chat/completions` and reads a chat completion's chunks
 * (forum.cursor.com/t/153019, /t/159298); others change only the path (madox2/vim-ai#162). What the
 * client reads is decided by the path.
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import { chatRequestFields } from "./chat-to-responses/chat-fields.js";
import { chatRequestToResponses } from "./chat-to-responses/chat-request-to-responses.js";
import { responsesToChat } from "./choose-dialect.js";
import { plainChat } from "./fit/plain-chat.js";
import { responsesRequestFields } from "./responses-to-chat/responses-request-to-chat.js";
import { RequestCheck } from "./shared/request-check.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "./shared/translation.js";

/** The target, which may have other dialects, is chosen later. */
const anyTarget: RequestOptions = {
  maxTokensDefault: 0,
  isStrict: false,
  takesCustomTools: true,
  provider: "",
  takesFilesInResults: false,
  takesUnsignedThinking: false,
  takesFileUrls: true,
};

/** Fields of both APIs that a translation leaves out or narrows. */
const ownFields = {
  chat_completions: new Set(["stream_options", "metadata", "store"]),
  responses: new Set(["reasoning", "store"]),
} satisfies Record<string, ReadonlySet<string>>;

/** Fields of Anthropic's that a chat request may have (`plain-chat.ts`). */
const mixedFields: ReadonlySet<string> = new Set(["system", "stop_sequences"]);

/**
 * `body`: of which `parseModelBody` says `isMistaken` for one of these operations. Fields that the
 * path's own API has stay, such as a limit of the output.
 */
export function bodyOfPath(
  operation: "chat_completions" | "responses",
  body: JsonObject,
): TranslatedRequest {
  const check = new RequestCheck(false);
  if (!check.isShallowEnough(body)) return check.result(body);
  const isOfOther = (name: string): boolean =>
    operation === "responses"
      ? chatRequestFields.has(name) || mixedFields.has(name)
      : responsesRequestFields.has(name);
  const own: [string, unknown][] = [];
  const others: [string, unknown][] = [];
  for (const [name, value] of Object.entries(body))
    (isOfOther(name) && !ownFields[operation].has(name) ? others : own).push([name, value]);
  const other = Object.fromEntries(others);
  const translated =
    operation === "responses" ? chatRequestToResponses(other, anyTarget) : asChat(other);
  if (!translated.ok) return translated;
  const given = own.filter(([, value]) => !isAbsent(value));
  return { ...translated, body: { ...translated.body, ...Object.fromEntries(given) } };
}

function asChat(body: JsonObject): TranslatedRequest {
  const turns = turnsOf(body["input"]);
  const translated = responsesToChat.request(
    turns === null ? body : { ...body, input: "x" },
    anyTarget,
  );
  if (!translated.ok) return translated;
  const { stream_options: _, max_tokens: limit, ...chat } = translated.body;
  const out: Record<string, unknown> = chat;
  // Without the text that stands for them.
  if (turns !== null)
    out["messages"] = [...(chat["messages"] as readonly unknown[]).slice(0, -1), ...turns];
  if (limit !== undefined) out["max_completion_tokens"] = limit;
  return { ...translated, body: out };
}

/**
 * Chat messages, or Anthropic's, that stand in place of items: Cursor writes them for Claude
 * (truefoundry.com, "Cursor"). Null for items.
 */
function turnsOf(input: unknown): readonly unknown[] | null {
  if (!Array.isArray(input) || !input.every(isMessage) || !input.some(isForeign)) return null;
  return plainChat({ messages: input }, true)["messages"] as readonly unknown[];
}

function isMessage(item: unknown): item is JsonObject {
  if (!isObject(item)) return false;
  const { type = "message", role } = item;
  return type === "message" && typeof role === "string";
}

const foreignParts: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "image",
  "document",
]);

function isForeign({ role, tool_calls: calls, content }: JsonObject): boolean {
  if (role === "tool" || calls !== undefined) return true;
  return (
    Array.isArray(content) &&
    content.some((part: unknown) => isObject(part) && foreignParts.has(part["type"]))
  );
}
