/**
 * A request for Anthropic messages as one for a chat completion. What becomes of each field stands
 * in `messages-fields.ts`.
 */

import { isAbsent } from "../../../shared/assert.js";
import { Refusals } from "../translation/refusals.js";
import type { JsonObject, TranslatedRequest } from "../translation/translation.js";
import { messagesOutputFields, messagesRequestFields } from "./messages-fields.js";
import { toChatToolChoice, toChatTools } from "./to-chat-tools.js";
import { toChatTurns } from "./to-chat-turns.js";

export function toChatRequest(body: JsonObject): TranslatedRequest {
  const refusals = new Refusals("chat completions");
  if (!refusals.depth(body)) return refusals.result(body);
  refusals.fields(body, messagesRequestFields, "");
  const messages = toChatTurns(body, refusals);
  const tools = toChatTools(body["tools"], refusals);
  const { choice, parallel } = toChatToolChoice(body["tool_choice"], tools !== undefined, refusals);
  const output = isAbsent(body["output_config"])
    ? {}
    : refusals.object(body["output_config"], "output_config");
  const stream = refusals.flag(body["stream"], "stream") === true;
  const out: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  set("model", body["model"]);
  set("messages", messages);
  set("max_completion_tokens", maxTokens(body["max_tokens"], refusals));
  set("temperature", refusals.share(body["temperature"], "temperature"));
  set("top_p", refusals.share(body["top_p"], "top_p"));
  set("stop", stop(body["stop_sequences"], refusals));
  set("stream", stream ? true : undefined);
  set("stream_options", stream ? { include_usage: true } : undefined);
  set("tools", tools);
  set("tool_choice", choice);
  set("parallel_tool_calls", parallel);
  set("reasoning_effort", reasoningEffort(body["thinking"], output["effort"], refusals));
  set("response_format", responseFormat(body, output, refusals));
  set("user", user(body["metadata"], refusals));
  set("service_tier", refusals.word(body["service_tier"], serviceTiers, "service_tier"));
  return refusals.result(out);
}

function maxTokens(value: unknown, refusals: Refusals): unknown {
  if (value === 0)
    refusals.unsupported(
      "max_tokens",
      "must be at least 1",
      "which fills no cache without an answer",
    );
  return refusals.count(value, "max_tokens");
}

function stop(value: unknown, refusals: Refusals): readonly string[] | undefined {
  if (isAbsent(value)) return undefined;
  const sequences = refusals
    .list(value, "stop_sequences")
    .map((one, i) => refusals.text(one, `stop_sequences[${i}]`));
  return sequences.length === 0 ? undefined : sequences;
}

const efforts: ReadonlyMap<string, string> = new Map(
  ["low", "medium", "high", "xhigh", "max"].map((effort) => [effort, effort]),
);
const thinkingTypes: ReadonlyMap<string, string> = new Map(
  ["adaptive", "disabled", "enabled"].map((type) => [type, type]),
);
/** Up to this budget of tokens; above the last it is `high`. */
const effortsByBudget = [
  [4096, "low"],
  [16_384, "medium"],
] as const;

/** A budget of tokens can't be said, but the effort that it means can. */
function reasoningEffort(
  thinking: unknown,
  effort: unknown,
  refusals: Refusals,
): string | undefined {
  const said = refusals.word(effort, efforts, "output_config.effort");
  if (isAbsent(thinking)) return said;
  const config = refusals.object(thinking, "thinking");
  const type = refusals.word(config["type"], thinkingTypes, "thinking.type");
  if (type === "disabled") {
    if (said !== undefined)
      refusals.unsupported(
        "output_config.effort",
        "must be left out beside thinking that is disabled",
        "which has one setting for both",
      );
    return "none";
  }
  if (type !== "enabled" || said !== undefined) return said;
  const budget = refusals.count(config["budget_tokens"], "thinking.budget_tokens");
  return effortsByBudget.find(([most]) => budget <= most)?.[1] ?? "high";
}

function responseFormat(
  body: JsonObject,
  output: JsonObject,
  refusals: Refusals,
): JsonObject | undefined {
  const param = isAbsent(output["format"]) ? "output_format" : "output_config.format";
  const value = output["format"] ?? body["output_format"];
  refusals.fields(output, messagesOutputFields, "output_config.");
  if (isAbsent(value)) return undefined;
  const format = refusals.object(value, param);
  if (format["type"] !== "json_schema") refusals.refuse(`${param}.type`, "must be json_schema");
  // The name is a label that OpenAI requires. Anthropic always holds to the schema.
  return {
    type: "json_schema",
    json_schema: {
      name: "answer",
      schema: refusals.object(format["schema"], `${param}.schema`),
      strict: true,
    },
  };
}

/** The longest that OpenAI takes. */
const userCharsMax = 64;

function user(value: unknown, refusals: Refusals): string | undefined {
  if (isAbsent(value)) return undefined;
  const id = refusals.object(value, "metadata")["user_id"];
  if (isAbsent(id)) return undefined;
  const text = refusals.text(id, "metadata.user_id");
  return text.length > userCharsMax ? undefined : text;
}

/** `auto` is the default on both sides. */
const serviceTiers: ReadonlyMap<string, string | undefined> = new Map([
  ["auto", undefined],
  ["standard_only", "default"],
]);
