/**
 * Translates a request for Anthropic messages to a chat request. `messages-request-fields.ts` lists
 * the fields.
 */
import { isAbsent } from "../../../shared/checked.js";
import { effortOfBudget } from "../../body/requested-effort.js";
import { schemaFormat } from "../shared/chat-request.js";
import { RequestReader } from "../shared/request-reader.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../shared/translation.js";
import { messagesOutputFields, messagesRequestFields } from "./messages-request-fields.js";
import { messagesToolChoiceToChat, messagesToolsToChat } from "./messages-tools-to-chat.js";
import { messagesTurnsToChat } from "./messages-turns-to-chat.js";

export function messagesRequestToChat(
  body: JsonObject,
  options: RequestOptions,
): TranslatedRequest {
  const reader = new RequestReader("chat completions", options.isStrict, options.takesFileUrls);
  if (!reader.isShallowEnough(body)) return reader.result(body);
  reader.fields(body, messagesRequestFields, "");
  const messages = messagesTurnsToChat(body, reader, options.takesFilesInResults);
  const tools = messagesToolsToChat(body["tools"], reader);
  const { choice, parallel } = messagesToolChoiceToChat(body["tool_choice"], tools, reader);
  const output = isAbsent(body["output_config"])
    ? {}
    : reader.object(body["output_config"], "output_config");
  const stream = reader.flag(body["stream"], "stream") === true;
  const out: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  set("model", body["model"]);
  set("messages", messages);
  set("max_completion_tokens", maxTokens(body["max_tokens"], reader));
  set("temperature", reader.ratio(body["temperature"], "temperature"));
  set("top_p", reader.ratio(body["top_p"], "top_p"));
  set("stop", stop(body["stop_sequences"], reader));
  set("stream", stream ? true : undefined);
  set("stream_options", stream ? { include_usage: true } : undefined);
  set("tools", tools);
  set("tool_choice", choice);
  set("parallel_tool_calls", parallel);
  set("reasoning_effort", reasoningEffort(body["thinking"], output["effort"], reader));
  set("response_format", responseFormat(body, output, reader));
  set("user", user(body["metadata"], reader));
  set("service_tier", serviceTier(body, reader));
  return reader.result(out);
}

function maxTokens(value: unknown, reader: RequestReader): unknown {
  if (value === 0)
    reader.unsupported(
      "max_tokens",
      "must be at least 1",
      "which can't fill a cache without an answer",
    );
  return reader.count(value, "max_tokens");
}

function stop(value: unknown, reader: RequestReader): readonly string[] | undefined {
  if (isAbsent(value)) return undefined;
  const sequences = reader
    .list(value, "stop_sequences")
    .map((sequence, i) => reader.text(sequence, `stop_sequences[${i}]`));
  return sequences.length === 0 ? undefined : sequences;
}

const efforts: ReadonlyMap<string, string> = new Map(
  ["low", "medium", "high", "xhigh", "max"].map((effort) => [effort, effort]),
);
const thinkingTypes: ReadonlyMap<string, string> = new Map(
  ["adaptive", "between_tools", "disabled", "enabled"].map((type) => [type, type]),
);
/** Chat completions have no token budget, so the budget becomes an effort. */
function reasoningEffort(
  thinking: unknown,
  effort: unknown,
  reader: RequestReader,
): string | undefined {
  const givenEffort = reader.enumValue(effort, efforts, "output_config.effort");
  if (isAbsent(thinking)) return givenEffort;
  const config = reader.object(thinking, "thinking");
  const type = reader.enumValue(config["type"], thinkingTypes, "thinking.type");
  if (type === "disabled" || type === "between_tools") {
    if (givenEffort !== undefined)
      reader.drop(
        "output_config.effort",
        "must be left out when thinking is disabled",
        "which has one setting for both",
      );
    return "none";
  }
  if (type !== "enabled" || givenEffort !== undefined) return givenEffort;
  const { budget_tokens: budget } = config;
  if (isAbsent(budget)) return "medium";
  return effortOfBudget(reader.count(budget, "thinking.budget_tokens"));
}

function responseFormat(
  body: JsonObject,
  output: JsonObject,
  reader: RequestReader,
): JsonObject | undefined {
  const param = isAbsent(output["format"]) ? "output_format" : "output_config.format";
  const value = output["format"] ?? body["output_format"];
  reader.fields(output, messagesOutputFields, "output_config.");
  if (isAbsent(value)) return undefined;
  const format = reader.object(value, param);
  if (format["type"] !== "json_schema") reader.refuse(`${param}.type`, "must be json_schema");
  const schema = reader.object(format["schema"], `${param}.schema`);
  return schemaFormat(schema);
}

/** The longest `user` that OpenAI accepts. */
const userCharsMax = 64;

function user(value: unknown, reader: RequestReader): string | undefined {
  if (isAbsent(value)) return undefined;
  const id = reader.object(value, "metadata")["user_id"];
  if (isAbsent(id)) return undefined;
  const text = reader.text(id, "metadata.user_id");
  return text.length > userCharsMax ? undefined : text;
}

/** Anthropic's speed is a tier in chat completions, and takes precedence over the tier. */
function serviceTier({ speed, service_tier: tier }: JsonObject, reader: RequestReader): unknown {
  const requestedTier = reader.enumValue(tier, serviceTiers, "service_tier");
  return speed === "fast" ? "priority" : requestedTier;
}

/** `auto` is the default in both dialects. */
const serviceTiers: ReadonlyMap<string, string | undefined> = new Map([
  ["auto", undefined],
  ["standard_only", "default"],
]);
