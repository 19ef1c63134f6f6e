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
  model: mapped("left out: the path names the model"),
  contents: mapped("`messages`"),
  systemInstruction: mapped("a `system` message before all others"),
  tools: mapped("`tools`: their function declarations, in one list"),
  toolConfig: mapped("`tool_choice`"),
  generationConfig: mapped("see its fields below"),
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
    "`application/json` → `response_format`: `json_schema` if there is a schema, otherwise `json_object`, with an instruction if no message has the word JSON; `text/plain` is the default and is left out; other types are refused",
  ),
  responseSchema: mapped("`response_format.json_schema`, as JSON Schema"),
  responseJsonSchema: mapped("`response_format.json_schema`"),
  thinkingConfig: mapped(
    "`reasoning_effort`: `thinkingLevel` in lower case; `thinkingBudget` 0 → `none`, up to 4,096 tokens → `low`, up to 16,384 → `medium`, above → `high`; -1 is the default and is left out; without `includeThoughts` the answer has no thoughts",
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
  role: mapped("`role`: `model` → `assistant`; `user`, `function` or no role → `user`"),
  parts: mapped(
    "messages: consecutive contents of one role become one message, in which results of calls come first",
  ),
});

export const googlePartFields: FieldTable = fieldTable({
  text: mapped("a `text` part; if the part is a thought, `reasoning_content`"),
  thought: mapped(
    "marks a thought, which Sluice sends only to models that take back their reasoning",
  ),
  thoughtSignature: mapped(
    "a signature by Gemini goes to hosts that read it; one by Sluice holds another model's reasoning and becomes `reasoning_content`, `thinking_blocks` and `reasoning_details`; others are left out",
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
  id: mapped("`id`; a call without an id gets one made from its position"),
  name: mapped(
    "`function.name`; a name of more than 64 characters, or with characters other than letters, digits, `_` and `-`, is shortened; answers have the client's own name",
  ),
  args: mapped("`function.arguments`, as a string"),
});

export const googleResultFields: FieldTable = fieldTable({
  id: mapped("`tool_call_id`"),
  name: mapped(
    "finds the call of a result without an id: the first of this name that has no result yet",
  ),
  response: mapped(
    "`content`: the text, if the response has only the field `output`, `result` or `error` (for `error` with the prefix `Error: `); otherwise the response as JSON",
  ),
  parts: mapped(
    "`content`; images and files, which a tool message can't hold, go into the user message after it",
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
    "`function.parameters`, as JSON Schema: types in lower case, counts as numbers, `nullable` as the type `null`",
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
    "`mode`: `AUTO`, `VALIDATED` → `auto`, `NONE` → `none`, `ANY` → `required`; with `allowedFunctionNames`, Sluice sends only the functions that it lists; if `ANY` lists one function, `tool_choice` names it",
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
