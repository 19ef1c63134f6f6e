/**
 * Fits a translated chat request to its host and its model: removes what they refuse, reports a
 * removal if the answer may differ because of it, and puts messages in an order that the host
 * accepts.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import type {
  ChatTraits,
  MaxTokensField,
  OptionalChatField,
} from "../../../shared/config/host-traits.js";
import type { Effort } from "../../../shared/config/model-traits.js";
import { writeExactly } from "../../body/exact-json.js";
import { fileAsText } from "../shared/data-url.js";
import type { RequestCheck } from "../shared/request-check.js";
import { orderWithResults } from "../shared/results-order.js";
import { detailsCarriedBy } from "../shared/thinking-blocks.js";
import {
  withoutSignatures,
  withSignatures,
  withSignedDetails,
} from "../shared/thought-signature.js";
import { unreadableInput } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { orderMessages, withTexts } from "./message-order.js";
import { type ChatModelTraits, isEffort, nearestEffort } from "./model-families.js";
import { refuseImages } from "./refuse-images.js";
import type { ChatTargetTraits } from "./target-traits.js";

export interface ChatHost {
  readonly chat: ChatTraits;
  readonly traits: ChatTargetTraits;
  /** The model's name at the provider. */
  readonly model: string;
  /** The provider's name. */
  readonly provider: string;
}

type Fields = Record<string, unknown>;

/** `body`: the result of a translation. The result shares the values that don't change. */
export function fitChatRequest(body: JsonObject, host: ChatHost, check: RequestCheck): JsonObject {
  const { chat, model, traits } = host;
  const out: Fields = { ...body };
  fitOptionalFields(out, chat, check);
  fitEffort(out, traits, check);
  fitSampling(out, out["reasoning_effort"] ?? usualEffort(traits), traits, check);
  fitToolChoice(out, traits, check);
  fitStop(out, chat, check);
  if (!traits.takesVerbosity) dropVerbosity(out, check);
  fitMaxTokens(out, chat.maxTokensField, traits);
  if (!chat.takesStreamOptions) delete out["stream_options"];
  if (!traits.takesImages) refuseImages(body["messages"], "messages", check);
  const instructions = traits.takesOutputSchema
    ? listSchemaInWords(out, chat, check)
    : outputSchemaInWords(out, check);
  const messages = [...instructions, ...(body["messages"] as readonly JsonObject[])];
  out["messages"] = fitMessages(messages, host);
  out["model"] = model;
  return out;
}

/**
 * As `fitChatRequest`, for a client's own request: removes only what the model refuses. `body`: the
 * fields that control the answer, and the tools.
 */
export function fitChatTuning(
  body: JsonObject,
  chat: ChatTraits,
  traits: ChatTargetTraits,
  check: RequestCheck,
): JsonObject {
  const out: Fields = { ...body };
  fitEffort(out, traits, check);
  fitSampling(out, out["reasoning_effort"] ?? usualEffort(traits), traits, check);
  fitStop(out, chat, check);
  if (!traits.takesVerbosity) dropVerbosity(out, check);
  // The provider handles a value that isn't a number.
  if (typeof (out["max_completion_tokens"] ?? out["max_tokens"]) === "number")
    fitMaxTokens(out, chat.maxTokensField, traits);
  return out;
}

/** The effort with which a model reasons if the request has none. */
export function usualEffort({ efforts, reasonsByDefault }: ChatModelTraits): Effort {
  return efforts.length > 0 && reasonsByDefault ? "medium" : "none";
}

/**
 * Drops the verbosity if the model doesn't take it. `out`: a chat request, or `text` of the
 * Responses API.
 */
export function dropVerbosity(out: Fields, check: RequestCheck): void {
  // The default, which every model takes.
  if ((out["verbosity"] ?? "medium") === "medium") return;
  check.drop("verbosity", "must be left out: the model doesn't take it");
  delete out["verbosity"];
}

/** Hints that don't change the answer. */
const hints: readonly OptionalChatField[] = [
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
];

const toldFields: readonly OptionalChatField[] = ["verbosity", "service_tier"];

function fitOptionalFields(out: Fields, { optionalFields }: ChatTraits, check: RequestCheck): void {
  for (const field of hints) if (!optionalFields.has(field)) delete out[field];
  for (const field of toldFields) {
    if (out[field] === undefined || optionalFields.has(field)) continue;
    check.drop(field, "must be left out: the model's provider has no such field");
    delete out[field];
  }
  if (optionalFields.has("parallel_tool_calls")) return;
  if (out["parallel_tool_calls"] === false)
    check.drop("parallel_tool_calls", "must not be false: the model's provider has no such field");
  delete out["parallel_tool_calls"];
}

/** Other dialects allow more stop sequences than OpenAI's. */
function fitStop(out: Fields, { stopSequencesMax: max }: ChatTraits, check: RequestCheck): void {
  const { stop } = out;
  if (max === null || !Array.isArray(stop) || stop.length <= max) return;
  check.drop(
    "stop",
    `must have at most ${max} sequences: the model's provider takes no more`,
    `stop after the first ${max}`,
  );
  out["stop"] = stop.slice(0, max);
}

function fitEffort(out: Fields, traits: ChatTargetTraits, check: RequestCheck): void {
  const { reasoning_effort: effort, tools } = out;
  const { efforts, onlyInResponses, reasoningWithTools } = traits;
  const mustNotReason =
    tools !== undefined &&
    onlyInResponses !== "nothing" &&
    reasoningWithTools !== "taken" &&
    (effort !== undefined || onlyInResponses === "reasoning_with_tools");
  if (!mustNotReason) return setEffort(out, efforts, check);
  if (effort !== undefined && effort !== "none")
    check.drop("reasoning_effort", "must be left out: the model doesn't take it beside tools here");
  // By default the model reasons, and then it refuses the tools.
  if (efforts.includes("none")) out["reasoning_effort"] = "none";
  else delete out["reasoning_effort"];
}

function setEffort(out: Fields, efforts: readonly Effort[], check: RequestCheck): void {
  const { reasoning_effort: effort } = out;
  if (!isEffort(effort)) return;
  delete out["reasoning_effort"];
  const supported = takenEffort(effort, efforts, "reasoning_effort", check);
  if (supported !== null) out["reasoning_effort"] = supported;
}

/**
 * The value that the model takes for the requested one. Null if there is none; the field is then
 * reported as dropped, unless the model can't reason and `none` was requested.
 */
export function takenEffort(
  effort: Effort,
  efforts: readonly Effort[],
  field: string,
  check: RequestCheck,
): Effort | null {
  const supported = nearestEffort(effort, efforts);
  // A model that can't reason already does what `none` asks for.
  if (supported === null && (effort !== "none" || efforts.length > 0))
    check.drop(field, `must be left out: the model doesn't take ${effort}`);
  return supported;
}

/** The sampling fields with their defaults. A model that takes no other value takes the default. */
const sampling = new Map<string, number>([
  ["temperature", 1],
  ["top_p", 1],
  ["presence_penalty", 0],
  ["frequency_penalty", 0],
]);

/** Fields that OpenAI's reasoning models refuse. */
const tokenControl = ["stop", "logprobs", "top_logprobs", "logit_bias"];

/** `effort`: the effort with which the model reasons; `none` if it doesn't reason. */
export function fitSampling(
  out: Fields,
  effort: unknown,
  { sampling: supported, takesTokenControl }: ChatModelTraits,
  check: RequestCheck,
): void {
  const reasons = supported !== "without_reasoning" || effort !== "none";
  for (const field of takesTokenControl ? [] : reasons ? tokenControl : ["stop"]) {
    const value = out[field];
    if (value === undefined) continue;
    if (value !== false && value !== null)
      check.drop(field, "must be left out: the model doesn't take it");
    delete out[field];
  }
  if (supported === "one_of" && out["temperature"] !== undefined && out["top_p"] !== undefined) {
    check.drop("top_p", "must be left out: the model takes it or a temperature, but not both");
    delete out["top_p"];
  }
  if (supported === "all" || supported === "one_of") return;
  if (supported === "without_reasoning" && effort === "none") return;
  for (const [field, common] of sampling) {
    if (out[field] !== undefined && out[field] !== common)
      check.drop(field, "must be left out: the model doesn't take it");
    delete out[field];
  }
}

/** Drops a forced tool call if the model refuses it. */
export function fitToolChoice(
  out: Fields,
  { takesForcedCalls }: Pick<ChatTargetTraits, "takesForcedCalls">,
  check: RequestCheck,
): void {
  const { tool_choice: choice } = out;
  if (takesForcedCalls || choice === undefined || choice === "auto" || choice === "none") return;
  check.drop("tool_choice", "must not force a call: the model doesn't take that");
  out["tool_choice"] = "auto";
}

export function fitMaxTokens(
  out: Fields,
  field: MaxTokensField,
  { outputTokensMax }: ChatModelTraits,
): void {
  const { max_tokens: old, max_completion_tokens: maxTokens = old } = out;
  delete out["max_tokens"];
  delete out["max_completion_tokens"];
  if (typeof maxTokens === "number")
    out[field] = outputTokensMax === null ? maxTokens : Math.min(maxTokens, outputTokensMax);
}

/** Puts a schema into the prompt if the host wouldn't enforce it. */
export function outputSchemaInWords(out: Fields, check: RequestCheck): readonly JsonObject[] {
  const { response_format: format } = out;
  if (!isObject(format) || format["type"] !== "json_schema") return [];
  const definition = isObject(format["json_schema"]) ? format["json_schema"] : {};
  check.drop(
    "response_format.json_schema",
    "must be left out: the model's provider doesn't enforce schemas",
  );
  out["response_format"] = { type: "json_object" };
  return [{ role: "system", content: schemaInstruction(definition["schema"]) }];
}

/** Google's clients often ask for a list (google-gemini/cookbook#388), which OpenAI refuses. */
function listSchemaInWords(
  out: Fields,
  { takesAnyOutputSchema }: ChatTraits,
  check: RequestCheck,
): readonly JsonObject[] {
  const { response_format: format } = out;
  const definition =
    isObject(format) && isObject(format["json_schema"]) ? format["json_schema"] : {};
  const { schema } = definition;
  if (takesAnyOutputSchema || !isObject(schema) || isOfObject(schema)) return [];
  dropListSchema("response_format.json_schema", check);
  delete out["response_format"];
  return [{ role: "system", content: schemaInstruction(schema) }];
}

export function dropListSchema(field: string, check: RequestCheck): void {
  check.drop(field, "must be of an object: the model's provider enforces no other schema");
}

/** Whether the root of a schema is an object's. */
export function isOfObject({ type, $ref: reference, anyOf, oneOf }: JsonObject): boolean {
  if (anyOf !== undefined || oneOf !== undefined) return false;
  return type === "object" || (type === undefined && reference !== undefined);
}

export function fitMessages(
  messages: readonly JsonObject[],
  { chat, model, provider }: Omit<ChatHost, "traits">,
): readonly JsonObject[] {
  const beside = orderWithResults(messages)?.map((i) => messages[i]!) ?? messages;
  const fitted = beside.map((message) =>
    withArguments(withIds(withReasoning(withTextsOfFiles(message), chat, provider), chat), chat),
  );
  const signed =
    chat.signatures === "in_calls" ? withSignatures(fitted, model) : withoutSignatures(fitted);
  const detailed = chat.signatures === "in_details" ? withSignedDetails(signed, model) : signed;
  const ordered = orderMessages(detailed, chat.messageOrder);
  return chat.takesTextParts ? ordered : withTexts(ordered);
}

/** For hosts that want reasoning with every call, if a client or another model gave none. */
const noReasoning = " ";

/** Chat completions take no files but PDFs, so a text file becomes a text. */
function withTextsOfFiles(message: JsonObject): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const texts = content.map(fileAsText);
  return texts.every((text) => text === null)
    ? message
    : { ...message, content: content.map((part: unknown, i) => texts[i] ?? part) };
}

/**
 * Adds earlier reasoning to a message, only with calls, and only if the host accepts it: elsewhere
 * it has no effect. Details that the host itself gave take precedence.
 */
function withReasoning(
  message: JsonObject,
  { earlierReasoning }: ChatTraits,
  provider: string,
): JsonObject {
  const { reasoning_content: reasoning, thinking_blocks: blocks, ...rest } = message;
  const details = detailsCarriedBy(blocks, provider);
  if (details.length > 0) return { ...rest, reasoning_details: details };
  const isWanted = earlierReasoning !== "refused" && rest["tool_calls"] !== undefined;
  // Clients without support for thinking concatenate its pieces to an empty text.
  if (isWanted && earlierReasoning === "required" && (reasoning ?? "") === "")
    return { ...rest, reasoning_content: noReasoning };
  if (isWanted && reasoning !== undefined)
    return blocks === undefined ? message : { ...rest, reasoning_content: reasoning };
  return reasoning === undefined && blocks === undefined ? message : rest;
}

function withIds(message: JsonObject, { callIds }: ChatTraits): JsonObject {
  if (callIds === "any") return message;
  const fit = callIds === "forty_characters" ? shortCallId : nineCharacterId;
  const { tool_call_id: id, tool_calls: calls } = message;
  if (typeof id === "string")
    return fit(id) === id ? message : { ...message, tool_call_id: fit(id) };
  if (!Array.isArray(calls)) return message;
  if (calls.every(({ id: callId }: JsonObject) => fit(String(callId)) === callId)) return message;
  return {
    ...message,
    tool_calls: (calls as readonly JsonObject[]).map((call) => ({
      ...call,
      id: fit(String(call["id"])),
    })),
  };
}

/**
 * Replaces arguments that aren't a JSON object by an object. Models sometimes write such arguments.
 */
function withArguments(message: JsonObject, { takesAnyArguments }: ChatTraits): JsonObject {
  const { tool_calls: calls } = message;
  if (takesAnyArguments || !Array.isArray(calls)) return message;
  const fitted = calls.map(withReadableArguments);
  return fitted.every((call, i) => call === calls[i])
    ? message
    : { ...message, tool_calls: fitted };
}

function withReadableArguments(call: JsonObject): JsonObject {
  const { function: called } = call;
  const text = isObject(called) ? called["arguments"] : undefined;
  if (!isObject(called) || typeof text !== "string" || isObject(parseJson(text))) return call;
  const input = text.trim() === "" ? {} : unreadableInput(text);
  return { ...call, function: { ...called, arguments: JSON.stringify(input) } };
}

export function schemaInstruction(schema: unknown): string {
  const expected =
    isObject(schema) && schema["type"] === "array" ? "a JSON list" : "one JSON object";
  return `Answer with ${expected} that follows this JSON schema, and nothing else:\n${writeExactly(schema ?? {})}`;
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Returns the same id for the same input, so that a result matches its call. */
export function nineCharacterId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let i = 0; i < id.length; i++) {
    high = Math.imul(high ^ id.charCodeAt(i), 0x01000193) >>> 0;
    low = Math.imul(low + id.charCodeAt(i), 0x85ebca6b) ^ (low >>> 13);
  }
  let rest = (BigInt(high) << 32n) | BigInt(low >>> 0);
  let text = "";
  for (let i = 0; i < 9; i++) {
    text += digits[Number(rest % 62n)]!;
    rest /= 62n;
  }
  return text;
}

/** At most 40 characters, which is OpenAI's limit; different for ids with the same beginning. */
export function shortCallId(id: string): string {
  if (id.length <= 40) return id;
  return `${id.slice(0, 30)}_${nineCharacterId(id)}`;
}
