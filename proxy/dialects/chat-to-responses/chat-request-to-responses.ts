/**
 * Translates a chat request to a request of the Responses API. `chat-fields.ts` lists the fields.
 */
import { isAbsent } from "../../../shared/checked.js";
import { requestedEffort } from "../../body/requested-effort.js";
import { plainChat } from "../fit/plain-chat.js";
import { RequestReader } from "../shared/request-reader.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../shared/translation.js";
import { chatRequestFields } from "./chat-fields.js";
import { chatToolChoiceToResponses, chatToolsToResponses } from "./chat-tools-to-responses.js";
import { chatTurnsToResponses } from "./chat-turns-to-responses.js";

/** Fields that both dialects have, with the same meaning. */
const copied = [
  "temperature",
  "top_p",
  "parallel_tool_calls",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "service_tier",
  "metadata",
  "top_logprobs",
] as const;

export function chatRequestToResponses(
  request: JsonObject,
  options: RequestOptions,
): TranslatedRequest {
  const reader = new RequestReader("Responses", options.isStrict);
  if (!reader.isShallowEnough(request)) return reader.result(request);
  const body = plainChat(request);
  reader.fields(body, chatRequestFields, "");
  const out: Record<string, unknown> = {
    model: body["model"],
    input: chatTurnsToResponses(body["messages"], options.provider, reader),
    store: false,
  };
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  for (const field of copied) if (!isAbsent(body[field])) out[field] = body[field];
  set("max_output_tokens", maxTokens(body, reader));
  set("stream", reader.flag(body["stream"], "stream") === true ? true : undefined);
  const tools = chatToolsToResponses(body["tools"], reader);
  set("tools", tools);
  if (tools === undefined) delete out["parallel_tool_calls"];
  set("tool_choice", chatToolChoiceToResponses(body["tool_choice"], tools !== undefined, reader));
  set("text", text(body, reader));
  const effort = requestedEffort(body);
  if (effort !== undefined) out["reasoning"] = { effort: reader.text(effort, effortName(body)) };
  if (reader.flag(body["logprobs"], "logprobs") === true)
    out["include"] = ["message.output_text.logprobs"];
  return reader.result(out);
}

function effortName({ reasoning_effort: chatEffort }: JsonObject): string {
  return isAbsent(chatEffort) ? "reasoning.effort" : "reasoning_effort";
}

/** The smallest limit that OpenAI accepts. */
const outputTokensMin = 16;

function maxTokens(body: JsonObject, reader: RequestReader): number | undefined {
  const { max_completion_tokens: newer, max_tokens: older } = body;
  const limit = newer ?? older;
  if (isAbsent(limit)) return undefined;
  const param = isAbsent(newer) ? "max_tokens" : "max_completion_tokens";
  const count = reader.count(limit, param);
  if (count >= outputTokensMin) return count;
  reader.drop(param, "must be at least 16", "which takes no lower limit", `${param} below 16`);
  return outputTokensMin;
}

function text(body: JsonObject, reader: RequestReader): JsonObject | undefined {
  const { response_format: format, verbosity } = body;
  const out: Record<string, unknown> = {};
  if (!isAbsent(verbosity)) out["verbosity"] = reader.text(verbosity, "verbosity");
  if (!isAbsent(format)) out["format"] = textFormat(format, reader);
  return Object.keys(out).length === 0 ? undefined : out;
}

function textFormat(value: unknown, reader: RequestReader): JsonObject {
  const format = reader.object(value, "response_format");
  const { type } = format;
  if (type === "text" || type === "json_object") return { type };
  if (type !== "json_schema")
    reader.refuse("response_format.type", "must be text, json_object or json_schema");
  const definition = reader.object(format["json_schema"], "response_format.json_schema");
  return { type, ...definition };
}
