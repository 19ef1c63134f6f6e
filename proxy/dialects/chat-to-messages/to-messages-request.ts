/**
 * A chat completion's request as one for Anthropic messages. What becomes of each field stands in
 * `chat-fields.ts`.
 */

import { isAbsent } from "../../../shared/assert.js";
import { Refusals } from "../translation/refusals.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../translation/translation.js";
import { chatRequestFields, chatResponseFormatFields } from "./chat-fields.js";
import { toMessagesToolChoice, toMessagesTools } from "./to-messages-tools.js";
import { toMessagesTurns } from "./to-messages-turns.js";

export function toMessagesRequest(body: JsonObject, options: RequestOptions): TranslatedRequest {
  const refusals = new Refusals("Anthropic messages");
  if (!refusals.depth(body)) return refusals.result(body);
  refusals.fields(body, chatRequestFields, "");
  const turns = toMessagesTurns(body["messages"], refusals);
  const tools = toMessagesTools(body["tools"], refusals);
  const out: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  set("model", body["model"]);
  set("max_tokens", maxTokens(body, refusals) ?? options.maxTokensDefault);
  set("system", turns.system.length === 0 ? undefined : turns.system);
  set("messages", turns.messages);
  set("temperature", temperature(body["temperature"], refusals));
  set("top_p", refusals.share(body["top_p"], "top_p"));
  set("stop_sequences", stopSequences(body["stop"], refusals));
  set("stream", refusals.flag(body["stream"], "stream") === true ? true : undefined);
  set("tools", tools);
  set("tool_choice", toMessagesToolChoice(body, tools !== undefined, refusals));
  set("thinking", thinking(body, refusals));
  set("output_config", outputConfig(body, refusals));
  set("metadata", metadata(body, refusals));
  set("service_tier", refusals.word(body["service_tier"], serviceTiers, "service_tier"));
  return refusals.result(out);
}

function maxTokens(body: JsonObject, refusals: Refusals): number | undefined {
  const { max_completion_tokens: newer, max_tokens: older } = body;
  if (!isAbsent(newer) && !isAbsent(older) && newer !== older)
    refusals.refuse("max_tokens", "must not differ from max_completion_tokens: give one of them");
  const given = newer ?? older;
  if (isAbsent(given)) return undefined;
  const param = isAbsent(newer) ? "max_tokens" : "max_completion_tokens";
  return refusals.count(given, param);
}

function temperature(value: unknown, refusals: Refusals): unknown {
  if (typeof value !== "number" || value <= 1 || value > 2)
    return refusals.share(value, "temperature");
  refusals.unsupported("temperature", "must be at most 1", "where 1 is the highest");
  return undefined;
}

function stopSequences(value: unknown, refusals: Refusals): readonly string[] | undefined {
  if (isAbsent(value)) return undefined;
  const sequences = typeof value === "string" ? [value] : refusals.list(value, "stop");
  const texts = sequences.map((sequence, i) => {
    const param = typeof value === "string" ? "stop" : `stop[${i}]`;
    const text = refusals.text(sequence, param);
    if (text.trim() === "")
      refusals.unsupported(param, "must hold more than white space", "which doesn't stop at that");
    return text;
  });
  return texts.length === 0 ? undefined : texts;
}

/**
 * Anthropic's models think as they see fit, as hard as the effort says; older ones, which know only
 * a budget, need `thinking`.
 */
const efforts: ReadonlyMap<string, string> = new Map([
  ["none", "none"],
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
]);

function thinking(body: JsonObject, refusals: Refusals): JsonObject | undefined {
  const effort = refusals.word(body["reasoning_effort"], efforts, "reasoning_effort");
  if (isAbsent(body["thinking"]))
    return effort === undefined ? undefined : { type: effort === "none" ? "disabled" : "adaptive" };
  if (effort !== undefined)
    refusals.refuse("reasoning_effort", "must be left out beside thinking: give one of them");
  return refusals.object(body["thinking"], "thinking");
}

function outputConfig(body: JsonObject, refusals: Refusals): JsonObject | undefined {
  const given = body["reasoning_effort"];
  const effort = typeof given === "string" && given !== "none" ? efforts.get(given) : undefined;
  const format = responseFormat(body["response_format"], refusals);
  if (effort === undefined && format === undefined) return undefined;
  const config: Record<string, unknown> = {};
  if (effort !== undefined) config["effort"] = effort;
  if (format !== undefined) config["format"] = format;
  return config;
}

function responseFormat(value: unknown, refusals: Refusals): JsonObject | undefined {
  if (isAbsent(value)) return undefined;
  const format = refusals.object(value, "response_format");
  switch (format["type"]) {
    case "text":
      return undefined;
    case "json_schema": {
      const at = "response_format.json_schema";
      const given = refusals.object(format["json_schema"], at);
      refusals.fields(given, chatResponseFormatFields, `${at}.`);
      return { type: "json_schema", schema: refusals.object(given["schema"], `${at}.schema`) };
    }
    default:
      refusals.unsupported(
        "response_format.type",
        "must be json_schema or text",
        "which has no JSON without a schema",
      );
      return undefined;
  }
}

function metadata(body: JsonObject, refusals: Refusals): JsonObject | undefined {
  const param = isAbsent(body["safety_identifier"]) ? "user" : "safety_identifier";
  return isAbsent(body[param]) ? undefined : { user_id: refusals.text(body[param], param) };
}

/** `auto` is the default on both sides. */
const serviceTiers: ReadonlyMap<string, string | undefined> = new Map([
  ["auto", undefined],
  ["default", "standard_only"],
]);
