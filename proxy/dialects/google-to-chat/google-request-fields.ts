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
const ofGoogle = dropped("which doesn't run Google's own tools");

export const googleRequestFields: FieldTable = fieldTable({
  model: mapped("the model is the one in the path"),
  contents: mapped("`messages`"),
  systemInstruction: mapped("a `system` message before all others"),
  tools: mapped("`tools`: their function declarations, in one list"),
  toolConfig: mapped("`tool_choice`"),
  generationConfig: mapped("see below"),
  serviceTier: mapped("`service_tier`: `standard` → `default`, `priority`, `flex`"),
  safetySettings: dropped("which has no such setting", "must be empty", isEmptyList),
  cachedContent: refused("which can't read what is cached at Google"),
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
    "`application/json` → `response_format`: `json_schema` with a schema, else `json_object`, with an instruction unless a message has the word JSON; `text/plain` is the default; others are refused",
  ),
  responseSchema: mapped("`response_format.json_schema`, as JSON Schema"),
  responseJsonSchema: mapped("`response_format.json_schema`"),
  thinkingConfig: mapped(
    "`reasoning_effort`: `thinkingLevel` in small letters; `thinkingBudget` 0 → `none`, up to 4,096 tokens → `low`, up to 16,384 → `medium`, above → `high`, -1 is the default; without `includeThoughts` the answer has no thoughts",
  ),
  candidateCount: refused("which returns one answer", "must be 1", (value) => value === 1),
  responseLogprobs: refused(
    "whose log probabilities Sluice doesn't translate",
    "must be false",
    isFalse,
  ),
  logprobs: dropped("whose log probabilities Sluice doesn't translate"),
  responseModalities: refused("which only returns text", 'must be ["TEXT"]', isTextOnly),
  speechConfig: refused("which only returns text"),
  mediaResolution: noSuchSetting,
  imageConfig: noSuchSetting,
  audioTimestamp: dropped("which has no such setting", "must be false", isFalse),
});

export const googleContentFields: FieldTable = fieldTable({
  role: mapped("`user`; `model` → `assistant`; `function`, and none, → `user`"),
  parts: mapped(
    "messages: consecutive contents of one role become one, and the results of calls come first",
  ),
});

export const googlePartFields: FieldTable = fieldTable({
  text: mapped("a `text` part, or in a thought `reasoning_content`"),
  thought: mapped("what the model thought, which goes back to those that want it"),
  thoughtSignature: mapped(
    "Gemini's, to hosts that read it; Sluice's own holds what another model thought: its `reasoning_content`, `thinking_blocks` and `reasoning_details`; others are left out",
  ),
  inlineData: mapped(
    "an image → `image_url`, a PDF or a text → `file`, WAV and MP3 → `input_audio`; others are refused",
  ),
  fileData: mapped("an image at an `http` or `https` address → `image_url`; others are refused"),
  functionCall: mapped("`tool_calls`"),
  functionResponse: mapped("a message of the role `tool`"),
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
  id: mapped("`id`; a call without one gets it from its place"),
  name: mapped(
    "`function.name`; one of more than 64 characters, or with others than letters, digits, `_` and `-`, is shortened, and the client gets its own name back",
  ),
  args: mapped("`function.arguments`, as a string"),
});

export const googleResultFields: FieldTable = fieldTable({
  id: mapped("`tool_call_id`"),
  name: mapped("a result without an id is that of the first call of this name without a result"),
  response: mapped(
    "`content`: a text that is its only field, `output`, `result` or `error`, the latter with the prefix `Error: `; else all of it as JSON",
  ),
  parts: mapped(
    "`content`; a tool message can't hold images and files, so they go into the user message after it",
  ),
  scheduling: noSuchSetting,
  willContinue: dropped("which takes each result at once", "must be false", isFalse),
});

export const googleToolFields: FieldTable = fieldTable({
  functionDeclarations: mapped("`tools`"),
  googleSearch: ofGoogle,
  googleSearchRetrieval: ofGoogle,
  googleMaps: ofGoogle,
  enterpriseWebSearch: ofGoogle,
  codeExecution: ofGoogle,
  urlContext: ofGoogle,
  fileSearch: ofGoogle,
  retrieval: ofGoogle,
  computerUse: refused("which doesn't have Google's own tools"),
  mcpServers: refused("which can't call MCP servers", "must be empty", isEmptyList),
});

export const googleFunctionFields: FieldTable = fieldTable({
  name: mapped("`function.name`, as in a call"),
  description: mapped("`function.description`"),
  parameters: mapped(
    "`function.parameters`, as JSON Schema: types in small letters, counts as numbers, `nullable` as a type",
  ),
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
    "`mode`: `AUTO`, `VALIDATED` → `auto`, `NONE` → `none`, `ANY` → `required`; with `allowedFunctionNames` only these are sent, and one of them alone is `ANY`'s function",
  ),
  retrievalConfig: noSuchSetting,
  includeServerSideToolInvocations: leftOut("there are none"),
});

function isTextOnly(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => one === "TEXT");
}

/**
 * Whether a part records the work of one of Google's own tools. The model's text has the result.
 */
export function isOfGoogle(part: unknown): boolean {
  return isObject(part) && ownParts.some((name) => name in part);
}

const ownParts = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse"];

/** The same object if all of its names are in camel case already. */
export function camelFields(object: JsonObject): JsonObject {
  for (const name in object) if (name.includes("_")) return renamed(object);
  return object;
}

/** `_responseJsonSchema` is the older name of `responseJsonSchema`. */
function renamed(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replace(/^_/, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
