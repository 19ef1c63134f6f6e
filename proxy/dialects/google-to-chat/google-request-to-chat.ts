/**
 * Translates a request to generate content in Gemini's own API to a chat request.
 * `google-request-fields.ts` lists the fields.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import { effortOfBudget } from "../../body/requested-effort.js";
import { schemaFormat } from "../shared/chat-request.js";
import { quote } from "../shared/request-check.js";
import { RequestReader } from "../shared/request-reader.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../shared/translation.js";
import { camelFields, googleConfigFields, googleRequestFields } from "./google-request-fields.js";
import { googleToolsToChat } from "./google-tools-to-chat.js";
import { googleTurnsToChat } from "./google-turns-to-chat.js";
import { jsonSchemaOf } from "./json-schema.js";

export function googleRequestToChat(
  request: JsonObject,
  stream: boolean,
  options: RequestOptions,
): TranslatedRequest {
  const reader = new RequestReader("chat completions", options.isStrict, options.takesFileUrls);
  const body = camelFields(request);
  if (!reader.isShallowEnough(body)) return reader.result(body);
  reader.fields(body, googleRequestFields, "");
  const config = isAbsent(body["generationConfig"])
    ? {}
    : camelFields(reader.object(body["generationConfig"], "generationConfig"));
  reader.fields(config, googleConfigFields, "generationConfig.");
  const { tools, choice } = googleToolsToChat(body, reader);
  const out: Record<string, unknown> = {
    model: body["model"],
    messages: googleTurnsToChat(body, reader, options.takesFilesInResults),
  };
  const set = (field: string, value: unknown): void => {
    if (value !== undefined) out[field] = value;
  };
  for (const [name, field] of numbers)
    set(field, reader.number(config[name], `generationConfig.${name}`));
  set("max_completion_tokens", maxTokens(config["maxOutputTokens"], reader));
  set("stop", stop(config["stopSequences"], reader));
  set("stream", stream ? true : undefined);
  set("stream_options", stream ? { include_usage: true } : undefined);
  set("tools", tools);
  set("tool_choice", choice);
  set("reasoning_effort", reasoningEffort(config["thinkingConfig"], reader));
  set("response_format", responseFormat(config, reader));
  set("modalities", modalities(config["responseModalities"], reader));
  set("service_tier", reader.enumValue(body["serviceTier"], serviceTiers, "serviceTier"));
  askForJson(out);
  return reader.result(out);
}

const numbers = [
  ["temperature", "temperature"],
  ["topP", "top_p"],
  ["presencePenalty", "presence_penalty"],
  ["frequencyPenalty", "frequency_penalty"],
  ["seed", "seed"],
] as const;

function maxTokens(value: unknown, reader: RequestReader): number | undefined {
  return isAbsent(value) ? undefined : reader.count(value, "generationConfig.maxOutputTokens");
}

function stop(value: unknown, reader: RequestReader): readonly string[] | undefined {
  const path = "generationConfig.stopSequences";
  if (isAbsent(value)) return undefined;
  const sequences = reader
    .list(value, path)
    .map((sequence, i) => reader.text(sequence, `${path}[${i}]`));
  return sequences.length === 0 ? undefined : sequences;
}

const levels: ReadonlyMap<string, string | undefined> = new Map([
  ["THINKING_LEVEL_UNSPECIFIED", undefined],
  ["MINIMAL", "minimal"],
  ["LOW", "low"],
  ["MEDIUM", "medium"],
  ["HIGH", "high"],
]);

function reasoningEffort(value: unknown, reader: RequestReader): string | undefined {
  const path = "generationConfig.thinkingConfig";
  if (isAbsent(value)) return undefined;
  const { thinkingLevel: level, thinkingBudget: budget } = camelFields(reader.object(value, path));
  if (!isAbsent(level))
    return reader.enumValue(
      typeof level === "string" ? level.toUpperCase() : level,
      levels,
      `${path}.thinkingLevel`,
    );
  // -1 means that the model decides.
  if (isAbsent(budget) || budget === -1) return undefined;
  return budget === 0 ? "none" : effortOfBudget(reader.count(budget, `${path}.thinkingBudget`));
}

function responseFormat(config: JsonObject, reader: RequestReader): JsonObject | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  if (!isAbsent(type) && type !== "text/plain" && type !== "application/json")
    reader.unsupported(
      "generationConfig.responseMimeType",
      `must be text/plain or application/json, not ${quote(type)}`,
      "which returns nothing else",
    );
  const path = "generationConfig.responseJsonSchema";
  if (!isAbsent(responseJsonSchema)) return schemaFormat(reader.object(responseJsonSchema, path));
  if (!isAbsent(responseSchema)) {
    const schema = reader.object(responseSchema, "generationConfig.responseSchema");
    return schemaFormat(jsonSchemaOf(schema) as JsonObject);
  }
  return type === "application/json" ? { type: "json_object" } : undefined;
}

/** The names that OpenRouter takes. Undefined for text, the default. */
function modalities(value: unknown, reader: RequestReader): readonly string[] | undefined {
  const at = "generationConfig.responseModalities";
  if (isAbsent(value)) return undefined;
  const names = reader.list(value, at).map((name, i) => reader.text(name, `${at}[${i}]`));
  const other = names.findIndex((name) => name !== "TEXT" && name !== "IMAGE");
  if (other !== -1)
    reader.unsupported(`${at}[${other}]`, "must be TEXT or IMAGE", "which returns nothing else");
  return names.includes("IMAGE") ? names.map((name) => name.toLowerCase()) : undefined;
}

/** OpenAI refuses its JSON mode unless a message has the word; Google doesn't ask for that. */
function askForJson(out: Record<string, unknown>): void {
  const { response_format: format, messages } = out;
  const wantsJson = isObject(format) && format["type"] === "json_object";
  if (!wantsJson || !Array.isArray(messages) || /json/i.test(writeExactly(messages))) return;
  out["messages"] = [{ role: "system", content: "Answer with JSON." }, ...messages];
}

/** Google's default corresponds to OpenAI's `default`. */
const serviceTiers: ReadonlyMap<string, string | undefined> = new Map([
  ["unspecified", undefined],
  ["standard", "default"],
  ["flex", "flex"],
  ["priority", "priority"],
]);
