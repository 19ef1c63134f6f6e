/**
 * The fields of a request to generate content in Gemini's own API, and what they become if the
 * model's provider speaks chat completions, as of `@google/genai` 3.1 in November 2026.
 * docs/reference/dialects.md shows the same tables.
 */
import { isObject } from "../../../shared/checked.js";
import {
  dropped,
  type FieldTable,
  fieldTable,
  isEmptyList,
  leftOut,
  mapped,
  refused,
} from "../shared/field-table.js";
import type { JsonObject } from "../shared/translation.js";

const isFalse = (value: unknown): boolean => value === false;
const noSuchSetting = dropped("which has no such setting");
const googleToolRule = dropped("which doesn't run Google's own tools");

export const googleRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  contents: mapped("`messages`"),
  systemInstruction: mapped("`system`"),
  tools: mapped("`tools`"),
  toolConfig: mapped("`tool_choice`"),
  generationConfig: mapped("`generationConfig`"),
  serviceTier: mapped("`service_tier`"),
  safetySettings: dropped("which has no such setting", "must be empty", isEmptyList),
  cachedContent: refused(
    "which can't read what is cached at Google",
    "must be empty",
    (value) => value === "",
  ),
  labels: leftOut("labels for Google's bill"),
  store: leftOut("whether Google keeps a log of it"),
});

export const googleConfigFields: FieldTable = fieldTable({
  temperature: mapped("`temperature`"),
  topP: mapped("`top_p`"),
  topK: noSuchSetting,
  maxOutputTokens: mapped(
    "`max_completion_tokens` at OpenAI and Azure, `max_tokens` at all others",
  ),
  stopSequences: mapped("`stop`"),
  presencePenalty: mapped("`presence_penalty`"),
  frequencyPenalty: mapped("`frequency_penalty`"),
  seed: mapped("`seed`"),
  responseMimeType: mapped(
    "`application/json` → `response_format` (if there is no schema, `json_object`); types other than `text/plain` are refused",
  ),
  responseSchema: mapped("`response_format.json_schema`"),
  responseJsonSchema: mapped("`response_format.json_schema`"),
  thinkingConfig: mapped(
    "`reasoning_effort`: the level; a budget of 0 → `none`, up to 4,096 tokens → `low`, up to 16,384 → `medium`, above → `high`; without `includeThoughts` the answer has no thoughts",
  ),
  candidateCount: refused("which returns one answer", "must be 1", (value) => value === 1),
  responseLogprobs: refused(
    "whose log probabilities Sluice doesn't translate",
    "must be false",
    isFalse,
  ),
  logprobs: dropped("whose log probabilities Sluice doesn't translate"),
  responseModalities: mapped("with `IMAGE` → `modalities`; others than it and `TEXT` are refused"),
  speechConfig: refused("which only returns text"),
  mediaResolution: noSuchSetting,
  imageConfig: noSuchSetting,
  audioTimestamp: dropped("which has no such setting", "must be false", isFalse),
});

export const googleContentFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  parts: mapped("`content`"),
});

export const googlePartFields: FieldTable = fieldTable({
  text: mapped("`text`"),
  thought: mapped("a thought goes only to models that take back their reasoning"),
  thoughtSignature: mapped(
    "Gemini's signature goes to hosts that read it; from a signature that Sluice made, another model gets its reasoning back; others are left out",
  ),
  inlineData: mapped("images, PDFs, texts, WAV and MP3; others are refused"),
  fileData: mapped(
    "an image at an `http(s):` address, and a PDF if the provider takes it; others are refused",
  ),
  functionCall: mapped("`tool_calls`"),
  functionResponse: mapped("`tool`"),
  executableCode: dropped("which doesn't run Google's own tools"),
  codeExecutionResult: dropped("which doesn't run Google's own tools"),
  toolCall: dropped("which doesn't run Google's own tools"),
  toolResponse: dropped("which doesn't run Google's own tools"),
  videoMetadata: noSuchSetting,
  mediaResolution: noSuchSetting,
  mediaProcessing: noSuchSetting,
  partMetadata: leftOut("the client's own notes"),
});

export const googleCallFields: FieldTable = fieldTable({
  id: mapped("`id`"),
  name: mapped(
    "shortened if it has more than 64 characters, or others than letters, digits, `_` and `-`; answers have the client's name",
  ),
  args: mapped("`function.arguments`"),
});

export const googleResultFields: FieldTable = fieldTable({
  id: mapped("`tool_call_id`"),
  name: mapped(
    "without an `id`, the result belongs to the first call of this name without a result",
  ),
  response: mapped(
    "the text of its field `output`, `result` or `error` (with the prefix `Error: `), if it has no other fields; otherwise JSON",
  ),
  parts: mapped("`content`"),
  scheduling: noSuchSetting,
  willContinue: dropped("which takes each result at once", "must be false", isFalse),
});

export const googleToolFields: FieldTable = fieldTable({
  functionDeclarations: mapped("`tools`"),
  googleSearch: googleToolRule,
  googleSearchRetrieval: googleToolRule,
  googleMaps: googleToolRule,
  enterpriseWebSearch: googleToolRule,
  codeExecution: googleToolRule,
  urlContext: googleToolRule,
  fileSearch: googleToolRule,
  retrieval: googleToolRule,
  computerUse: refused("which doesn't have Google's own tools"),
  mcpServers: refused("which can't call MCP servers", "must be empty", isEmptyList),
});

export const googleFunctionFields: FieldTable = fieldTable({
  name: mapped("`function.name`"),
  description: mapped("`function.description`"),
  parameters: mapped("`function.parameters`"),
  parametersJsonSchema: mapped("`function.parameters`"),
  response: leftOut("describes the result, which the model gets to see"),
  responseJsonSchema: leftOut("describes the result, which the model gets to see"),
  behavior: dropped(
    "which waits for every result",
    "must be BLOCKING",
    (value) => value === "BLOCKING",
  ),
});

export const googleToolConfigFields: FieldTable = fieldTable({
  functionCallingConfig: mapped(
    "`VALIDATED` → `auto`; with `allowedFunctionNames`, Sluice sends only the listed functions",
  ),
  retrievalConfig: noSuchSetting,
  includeServerSideToolInvocations: leftOut("there are none"),
});

/**
 * Whether a part records the work of one of Google's own tools. The model's text has the result.
 */
export function isOfGoogle(part: unknown): boolean {
  return isObject(part) && ownParts.some((name) => name in part);
}

const ownParts = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse"];

/** The same object if all of its names are in camel case already. */
export function camelFields(object: JsonObject): JsonObject {
  for (const name in object) if (name.includes("_")) return withSnakeCaseNames(object);
  return object;
}

/** A single element may come without its list, as in Google's own samples. */
export function asList(value: unknown): unknown {
  return isObject(value) ? [value] : value;
}

/** `_responseJsonSchema` is the older name of `responseJsonSchema`. */
function withSnakeCaseNames(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replace(/^_/, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
