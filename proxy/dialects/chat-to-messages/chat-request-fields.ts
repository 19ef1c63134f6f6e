/**
 * The fields of a chat request, and what they become if the model's provider speaks Anthropic
 * messages, as of the OpenAI API in November 2026. docs/reference/dialects.md shows the same
 * tables.
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

const unsigned = leftOut("thinking without a signature, which Anthropic doesn't accept");
const cacheHint = leftOut("a hint for OpenAI's cache, which changes no answer");
const cacheControl = mapped(
  "unchanged, as Anthropic's own field; a message's goes to its last block",
);
const onlyGemini = leftOut("signatures that only Gemini's models can read");
const participant = dropped("which has no participant names");
const isZero = (value: unknown): boolean => value === 0;
const isFalse = (value: unknown): boolean => value === false;

export const chatRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  messages: mapped("`messages`"),
  max_completion_tokens: mapped(
    "`max_tokens`; without either, the provider's `max_tokens_default`",
  ),
  max_tokens: mapped("`max_tokens`"),
  temperature: mapped("a value above 1 becomes 1, and `x-sluice-dropped` names it"),
  top_p: mapped("`top_p`"),
  stop: mapped("`stop_sequences`"),
  stream: mapped("`stream`"),
  stream_options: leftOut("Sluice sends the usage chunk itself, and never obfuscates"),
  tools: mapped("`tools`"),
  tool_choice: mapped("with `allowed_tools`, Sluice sends only the listed tools"),
  parallel_tool_calls: mapped("`tool_choice.disable_parallel_tool_use`"),
  response_format: mapped(
    "`json_schema` → `output_config.format`; `json_object` → an instruction at the end of `system`",
  ),
  reasoning_effort: mapped(
    "`thinking: adaptive` and `output_config.effort` (`minimal` → `low`); `none` → `thinking: disabled`",
  ),
  reasoning: mapped(
    "OpenRouter's field, as `reasoning_effort`; `max_tokens` → `thinking.budget_tokens`; with `exclude`, the answer has no reasoning",
  ),
  thinking: mapped(
    "unchanged, as Anthropic's own field; refused if there is also `reasoning_effort`",
  ),
  user: mapped(
    "`metadata.user_id`; an e-mail address, a phone number or more than 256 characters become a hash",
  ),
  safety_identifier: mapped("`metadata.user_id`; it takes precedence over `user`"),
  service_tier: mapped("`default` → `standard_only`; values other than `auto` are dropped"),
  metadata: leftOut("labels for OpenAI's store"),
  store: leftOut("stores a copy at OpenAI; Anthropic stores none"),
  seed: leftOut("no provider guarantees that it has an effect"),
  prediction: leftOut("only makes OpenAI's answer faster"),
  prompt_cache_key: cacheHint,
  prompt_cache_options: cacheHint,
  prompt_cache_retention: cacheHint,
  n: refused("which returns one answer", "must be 1", (value) => value === 1),
  frequency_penalty: dropped("which has no penalties", "must be 0", isZero),
  presence_penalty: dropped("which has no penalties", "must be 0", isZero),
  logit_bias: dropped(
    "which has no token biases",
    "must be empty",
    (value) => isObject(value) && Object.keys(value).length === 0,
  ),
  logprobs: refused("which returns no log probabilities", "must be false", isFalse),
  top_logprobs: refused("which returns no log probabilities", "must be 0", isZero),
  modalities: refused(
    "which only returns text",
    'must be ["text"]',
    (value) => Array.isArray(value) && value.every((modality) => modality === "text"),
  ),
  audio: refused("which only returns text"),
  verbosity: dropped("which has no such setting", "must be medium", (value) => value === "medium"),
  moderation: refused("which has no such setting"),
  web_search_options: refused("which offers web search as a tool"),
  functions: refused("which has tools instead: use `tools`", "must be empty", isEmptyList),
  function_call: refused("which has tools instead: use `tool_choice`"),
});

export const chatSystemFields: FieldTable = fieldTable({
  role: mapped(
    "`system` and `developer` → `system`; if there are no other messages, a user message",
  ),
  content: mapped("`text`"),
  name: participant,
  cache_control: cacheControl,
});

export const chatUserFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`content`"),
  name: participant,
  cache_control: cacheControl,
});

export const chatAssistantFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`text`"),
  refusal: mapped("`text`"),
  tool_calls: mapped("`tool_use`"),
  cache_control: cacheControl,
  thinking_blocks: mapped("`thinking` and `redacted_thinking`, before the text"),
  reasoning_content: unsigned,
  reasoning: unsigned,
  reasoning_details: mapped(
    "as `thinking_blocks`, which take precedence; `reasoning_details` are OpenRouter's form",
  ),
  annotations: leftOut("citations of an earlier answer"),
  extra_content: onlyGemini,
  parsed: leftOut("added by OpenAI's SDK: the parsed `content`"),
  name: participant,
  audio: refused("which has no audio"),
  function_call: refused("which has tools instead: use `tool_calls`"),
});

export const chatToolFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`content`"),
  tool_call_id: mapped("`tool_use_id`"),
  name: leftOut("the call has the name"),
  cache_control: cacheControl,
});

export const chatToolCallFields: FieldTable = fieldTable({
  id: mapped("`id`"),
  type: mapped("types other than `function` are refused"),
  function: mapped("`input`"),
  index: leftOut("the position in a stream"),
  extra_content: onlyGemini,
});

export const chatFunctionCallFields: FieldTable = fieldTable({
  name: mapped("`name`"),
  arguments: mapped(
    'a string that isn\'t a JSON object → `{"unreadable_arguments": …}`, and `x-sluice-dropped` names it',
  ),
  parsed_arguments: leftOut("added by OpenAI's SDK: the parsed `arguments`"),
});

export const chatPartFields: FieldTable = fieldTable({
  type: mapped("types other than `text`, `image_url`, `file` and `refusal` are refused"),
  text: mapped("`text`"),
  refusal: mapped("`text`"),
  image_url: mapped("JPEG, PNG, GIF or WebP as a `data:` URL, or an `http(s):` URL"),
  file: mapped("a PDF or a text as a `data:` URL → `document`"),
  cache_control: cacheControl,
  prompt_cache_breakpoint: mapped("`cache_control`"),
});

export const chatImageFields: FieldTable = fieldTable({
  url: mapped("`source`"),
  detail: leftOut("Anthropic always reads the full image"),
});

export const chatFileFields: FieldTable = fieldTable({
  file_data: mapped("`source`"),
  file_url: mapped("`source`"),
  filename: mapped("`title`"),
  file_id: refused("which has no access to OpenAI's files: send `file_data`"),
});

export const chatToolDefinitionFields: FieldTable = fieldTable({
  type: mapped("types other than `function` are refused"),
  function: mapped("`tools[]`"),
  cache_control: cacheControl,
});

export const chatFunctionFields: FieldTable = fieldTable({
  name: mapped("`name`"),
  description: mapped("`description`"),
  parameters: mapped("`anyOf`, `oneOf`, `allOf`, `enum` and `not` at the top level are dropped"),
  strict: mapped(
    "`strict` for the first tools whose schemas Anthropic can enforce (at most 20, with 24 optional fields and 16 unions); other constraints become sentences, as in `json_schema.schema`",
  ),
});

export const chatResponseFormatFields: FieldTable = fieldTable({
  schema: mapped(
    "constraints that Anthropic's schemas lack, such as `minimum`, become sentences of the `description`; a schema that it can't enforce becomes an instruction",
  ),
  name: leftOut("a label"),
  strict: leftOut("Anthropic always enforces the schema"),
  description: mapped("`description`"),
});
