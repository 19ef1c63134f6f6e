/**
 * Translates a chat request to a request for Anthropic messages. `chat-request-fields.ts` lists the
 * fields.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { requestedEffort } from "../../body/requested-effort.js";
import { schemaInstruction } from "../fit/fit-chat-request.js";
import { thinkingTokensMin } from "../fit/fit-messages-request.js";
import { plainChat } from "../fit/plain-chat.js";
import { RequestReader } from "../shared/request-reader.js";
import { checkValue } from "../shared/tool-call.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../shared/translation.js";
import { textBlock } from "./chat-content-to-messages.js";
import { chatRequestFields, chatResponseFormatFields } from "./chat-request-fields.js";
import { chatToolChoiceToMessages, chatToolsToMessages } from "./chat-tools-to-messages.js";
import { chatTurnsToMessages } from "./chat-turns-to-messages.js";
import { SchemaBudget } from "./output-schema.js";

export function chatRequestToMessages(
  request: JsonObject,
  options: RequestOptions,
): TranslatedRequest {
  const reader = new RequestReader("Anthropic messages", options.isStrict);
  if (!reader.isShallowEnough(request)) return reader.result(request);
  const body = plainChat(request);
  reader.fields(body, chatRequestFields, "");
  const turns = chatTurnsToMessages(body["messages"], options.takesUnsignedThinking, reader);
  const budget = new SchemaBudget();
  // The answer's schema takes from the budget before those of tools.
  const format = responseFormat(body["response_format"], budget, reader);
  const tools = chatToolsToMessages(body, budget, reader);
  const out: Record<string, unknown> = {};
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  set("model", body["model"]);
  set("max_tokens", maxTokens(body, reader) ?? options.maxTokensDefault);
  const system = [...turns.system, ...jsonInstruction(body["response_format"], format)];
  set("system", system.length === 0 ? undefined : system);
  set("messages", turns.messages);
  set("temperature", temperature(body["temperature"], reader));
  set("top_p", reader.ratio(body["top_p"], "top_p"));
  set("stop_sequences", stopSequences(body["stop"], reader));
  set("stream", reader.flag(body["stream"], "stream") === true ? true : undefined);
  set("tools", tools);
  set("tool_choice", chatToolChoiceToMessages(body, tools !== undefined, reader));
  const effort = effortIn(body, reader);
  set("thinking", thinking(body, effort, reader));
  set("output_config", outputConfig(effort, format));
  set("metadata", metadata(body, reader));
  set("service_tier", serviceTier(body["service_tier"], reader));
  return reader.result(out);
}

function maxTokens(body: JsonObject, reader: RequestReader): number | undefined {
  const { max_completion_tokens: newer, max_tokens: older } = body;
  if (!isAbsent(newer) && !isAbsent(older) && newer !== older)
    reader.refuse(
      "max_tokens",
      "must not differ from max_completion_tokens: send only one of them",
    );
  const limit = newer ?? older;
  if (isAbsent(limit)) return undefined;
  const param = isAbsent(newer) ? "max_tokens" : "max_completion_tokens";
  return reader.count(limit, param);
}

function temperature(value: unknown, reader: RequestReader): unknown {
  if (typeof value !== "number" || value <= 1 || value > 2)
    return reader.ratio(value, "temperature");
  reader.drop("temperature", "must be at most 1", "where the maximum is 1", "temperature above 1");
  return 1;
}

function stopSequences(value: unknown, reader: RequestReader): readonly string[] | undefined {
  if (isAbsent(value)) return undefined;
  const sequences = typeof value === "string" ? [value] : reader.list(value, "stop");
  const texts: string[] = [];
  for (const [i, sequence] of sequences.entries()) {
    const param = typeof value === "string" ? "stop" : `stop[${i}]`;
    const text = reader.text(sequence, param);
    if (text.trim() !== "") texts.push(text);
    else reader.drop(param, "must not be blank", "which refuses blank stop sequences");
  }
  return texts.length === 0 ? undefined : texts;
}

/** Anthropic's names for the efforts of chat completions; `none` turns thinking off. */
const efforts: ReadonlyMap<string, string> = new Map([
  ["none", "none"],
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
]);

/** `thinking`, Anthropic's own field, takes precedence over OpenRouter's. */
function effortIn(body: JsonObject, reader: RequestReader): string | undefined {
  const { reasoning_effort: chatEffort, reasoning, thinking } = body;
  if (!isAbsent(reasoning)) reader.object(reasoning, "reasoning");
  if (!isAbsent(thinking) && isAbsent(chatEffort)) return undefined;
  const name = isAbsent(chatEffort) ? "reasoning.effort" : "reasoning_effort";
  return reader.enumValue(requestedEffort(body), efforts, name);
}

/**
 * An effort enables adaptive thinking. Anthropic's older models only support a token budget, so
 * clients send `thinking` itself for them, or OpenRouter's `max_tokens`.
 */
function thinking(
  body: JsonObject,
  effort: string | undefined,
  reader: RequestReader,
): JsonObject | undefined {
  if (isAbsent(body["thinking"])) {
    if (effort === undefined) return undefined;
    if (effort === "none") return { type: "disabled" };
    const { reasoning } = body;
    const tokens = isObject(reasoning) ? reasoning["max_tokens"] : undefined;
    return typeof tokens === "number" && isAbsent(body["reasoning_effort"])
      ? { type: "enabled", budget_tokens: Math.max(tokens, thinkingTokensMin) }
      : { type: "adaptive" };
  }
  if (effort !== undefined)
    reader.refuse(
      "reasoning_effort",
      "must be left out when thinking is set: send only one of them",
    );
  return reader.object(body["thinking"], "thinking");
}

function outputConfig(
  effort: string | undefined,
  format: JsonObject | undefined,
): JsonObject | undefined {
  const isSet = effort !== undefined && effort !== "none";
  if (!isSet && format === undefined) return undefined;
  const config: Record<string, unknown> = {};
  if (isSet) config["effort"] = effort;
  if (format !== undefined) config["format"] = format;
  return config;
}

function responseFormat(
  value: unknown,
  budget: SchemaBudget,
  reader: RequestReader,
): JsonObject | undefined {
  if (isAbsent(value)) return undefined;
  const format = reader.object(value, "response_format");
  switch (format["type"]) {
    case "text":
      return undefined;
    case "json_schema": {
      const path = "response_format.json_schema";
      const definition = reader.object(format["json_schema"], path);
      reader.fields(definition, chatResponseFormatFields, `${path}.`);
      const schema = reader.object(definition["schema"], `${path}.schema`);
      const described = isAbsent(definition["description"])
        ? schema
        : { description: reader.text(definition["description"], `${path}.description`), ...schema };
      const closed = budget.take(described, false);
      if (closed !== null) return { type: "json_schema", schema: closed };
      reader.drop(
        `${path}.schema`,
        "must have named properties, no recursion, at most 24 optional properties and 16 unions",
        "which enforces no other",
      );
      return undefined;
    }
    // `jsonInstruction` requests it in the prompt.
    case "json_object":
      return undefined;
    default:
      reader.refuse("response_format.type", "must be text, json_object or json_schema");
      return undefined;
  }
}

function metadata(body: JsonObject, reader: RequestReader): JsonObject | undefined {
  const param = isAbsent(body["safety_identifier"]) ? "user" : "safety_identifier";
  return isAbsent(body[param]) ? undefined : { user_id: identity(reader.text(body[param], param)) };
}

/** Matches an email address or a phone number, which Anthropic refuses as an identity. */
const nameable = /@|^\+?[\d\s().-]{7,}$/;
const identityCharsMax = 256;

/** The text if Anthropic accepts it, otherwise a digest that doesn't reveal it. */
function identity(text: string): string {
  if (text.length <= identityCharsMax && !nameable.test(text)) return text;
  // A check value has 32 bits, too few to distinguish all users: so three, of three forms of the
  // text.
  return `user_${checkValue(text)}${checkValue(`${text} `)}${checkValue(` ${text}`)}`;
}

/**
 * Instructions for what Anthropic can't enforce: the JSON mode without a schema, and some schemas.
 */
function jsonInstruction(format: unknown, enforced: JsonObject | undefined): readonly JsonObject[] {
  if (!isObject(format)) return [];
  if (format["type"] === "json_object")
    return [
      textBlock("Answer with one valid JSON object, without any text or code fence around it."),
    ];
  const definition = isObject(format["json_schema"]) ? format["json_schema"] : {};
  const { schema } = definition;
  return format["type"] === "json_schema" && isObject(schema) && enforced === undefined
    ? [textBlock(schemaInstruction(schema))]
    : [];
}

/** `auto` is the default in both dialects. */
function serviceTier(value: unknown, reader: RequestReader): string | undefined {
  if (isAbsent(value)) return undefined;
  const tier = reader.text(value, "service_tier");
  if (tier === "default") return "standard_only";
  if (tier !== "auto")
    reader.drop("service_tier", "must be auto or default", "which has no other tiers");
  return undefined;
}
