/**
 * A body of one of OpenAI's APIs at the path of the other, in the form that the path takes. Cursor
 * sends the Responses API's body to `/v1/chat/completions` and reads a chat completion's chunks
 * (forum.cursor.com/t/153019, /t/159298); others change only the path (madox2/vim-ai#162). What the
 * client reads is decided by the path.
 */
import { isObject } from "../../shared/checked.js";
import { chatRequestToResponses } from "./chat-to-responses/chat-request-to-responses.js";
import { responsesToChat } from "./choose-dialect.js";
import { plainChat } from "./fit/plain-chat.js";
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

/** `body`: of which `parseModelBody` says `isMistaken` for one of these operations. */
export function bodyOfPath(
  operation: "chat_completions" | "responses",
  body: JsonObject,
): TranslatedRequest {
  const check = new RequestCheck(false);
  if (!check.isShallowEnough(body)) return check.result(body);
  if (operation === "responses") return chatRequestToResponses(body, anyTarget);
  // Cursor writes the options of a chat completion's stream.
  const { stream_options: options, ...rest } = body;
  const turns = turnsOf(rest["input"]);
  const translated = responsesToChat.request(
    turns === null ? rest : { ...rest, input: "x" },
    anyTarget,
  );
  if (!translated.ok) return translated;
  const { stream_options: _, max_tokens: limit, ...chat } = translated.body;
  const out: Record<string, unknown> = chat;
  // Without the text that stands for them.
  if (turns !== null)
    out["messages"] = [...(chat["messages"] as readonly unknown[]).slice(0, -1), ...turns];
  if (limit !== undefined) out["max_completion_tokens"] = limit;
  if (isObject(options)) out["stream_options"] = options;
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
