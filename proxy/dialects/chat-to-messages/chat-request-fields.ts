/**
 * The fields of a chat completion's request, and what becomes of each when the model's provider
 * speaks Anthropic messages. The shapes are those of the OpenAI API in November 2026.
 */
import { isObject } from "../../../shared/assert.js";
import {
  type FieldTable,
  fieldTable,
  isEmptyList,
  leftOut,
  mapped,
  refused,
} from "../translation/field-table.js";

const unsigned = leftOut("thinking without a signature; Anthropic takes none");
const cacheHint = leftOut("a hint for OpenAI's cache, which changes no answer");
const cacheControl = mapped("`cache_control`, for those who send Anthropic's field");
const onlyGemini = leftOut("signatures that only Gemini's models can read");
const participant = refused("which has no names of participants");
const isZero = (value: unknown): boolean => value === 0;
const isFalse = (value: unknown): boolean => value === false;

export const chatRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  messages: mapped("`system` and `messages`"),
  max_completion_tokens: mapped(
    "`max_tokens`, which Anthropic requires: without one it is the operator's default",
  ),
  max_tokens: mapped("`max_tokens`"),
  temperature: mapped("`temperature`; above 1 it is refused"),
  top_p: mapped("`top_p`"),
  stop: mapped("`stop_sequences`; a blank one is refused"),
  stream: mapped("`stream`"),
  stream_options: leftOut("Sluice sends the usage chunk itself, and pads nothing"),
  tools: mapped("`tools`; others than functions are refused"),
  tool_choice: mapped(
    "`tool_choice`: `auto`, `none`, `required` → `any`, a function → `tool`; others are refused",
  ),
  parallel_tool_calls: mapped("`tool_choice.disable_parallel_tool_use`"),
  response_format: mapped(
    "`json_schema` → `output_config.format`; `text` says nothing; `json_object` is refused: Anthropic has no JSON without a schema",
  ),
  reasoning_effort: mapped(
    "`thinking: adaptive` and `output_config.effort`, `minimal` as `low`; `none` → `thinking: disabled`",
  ),
  thinking: mapped(
    "`thinking` as it is, for those who send Anthropic's field; not beside `reasoning_effort`",
  ),
  user: mapped("`metadata.user_id`"),
  safety_identifier: mapped("`metadata.user_id`, before `user`"),
  service_tier: mapped("`auto` says nothing; `default` → `standard_only`; others are refused"),
  metadata: leftOut("labels in OpenAI's store"),
  store: leftOut("keeps a copy at OpenAI; Anthropic keeps none"),
  seed: leftOut("no provider promises that it changes anything"),
  prediction: leftOut("only makes OpenAI faster"),
  prompt_cache_key: cacheHint,
  prompt_cache_options: cacheHint,
  prompt_cache_retention: cacheHint,
  n: refused("which gives one answer", "must be 1", (value) => value === 1),
  frequency_penalty: refused("which has no penalties", "must be 0", isZero),
  presence_penalty: refused("which has no penalties", "must be 0", isZero),
  logit_bias: refused(
    "which has no biases of tokens",
    "must be empty",
    (value) => isObject(value) && Object.keys(value).length === 0,
  ),
  logprobs: refused("which tells no probabilities", "must be false", isFalse),
  top_logprobs: refused("which tells no probabilities", "must be 0", isZero),
  modalities: refused(
    "which answers in text",
    'must be ["text"]',
    (value) => Array.isArray(value) && value.every((one) => one === "text"),
  ),
  audio: refused("which answers in text"),
  verbosity: refused("which has no such setting", "must be medium", (value) => value === "medium"),
  moderation: refused("which has no such setting"),
  web_search_options: refused("which searches by tools of its own"),
  functions: refused("which has tools: use `tools`", "must be empty", isEmptyList),
  function_call: refused("which has tools: use `tool_choice`"),
});

export const chatSystemFields: FieldTable = fieldTable({
  role: mapped("`system` and `developer`, wherever they stand: the blocks of `system`, in order"),
  content: mapped("text blocks"),
  name: participant,
});

export const chatUserFields: FieldTable = fieldTable({
  role: mapped("`role`; messages of one role in a row become one"),
  content: mapped("blocks"),
  name: participant,
});

export const chatAssistantFields: FieldTable = fieldTable({
  role: mapped("`role`; one that says nothing is left out"),
  content: mapped("text blocks"),
  refusal: mapped("a text block"),
  tool_calls: mapped("`tool_use` blocks, after the text"),
  thinking_blocks: mapped("`thinking` and `redacted_thinking` blocks, before the text"),
  reasoning_content: unsigned,
  reasoning: unsigned,
  reasoning_details: unsigned,
  annotations: leftOut("notes on an earlier answer"),
  extra_content: onlyGemini,
  parsed: leftOut("what OpenAI's SDK made of the `content`"),
  name: participant,
  audio: refused("which has no audio"),
  function_call: refused("which has tools: use `tool_calls`"),
});

export const chatToolFields: FieldTable = fieldTable({
  role: mapped("`tool`: a `tool_result` block in a message of the user; several in a row share it"),
  content: mapped("`content`"),
  tool_call_id: mapped("`tool_use_id`, as the `id` of the call"),
  name: leftOut("the call says it"),
});

export const chatToolCallFields: FieldTable = fieldTable({
  id: mapped(
    "`id`; what isn't a letter, a digit, `_` or `-`, which is all that Anthropic takes, becomes `_`",
  ),
  type: mapped("others than `function` are refused"),
  function: mapped("`name`; `arguments`, a text that must be a JSON object → `input`"),
  index: leftOut("the place in a stream"),
  extra_content: onlyGemini,
});

export const chatFunctionCallFields: FieldTable = fieldTable({
  name: mapped("`name`"),
  arguments: mapped("`input`"),
  parsed_arguments: leftOut("what OpenAI's SDK made of the `arguments`"),
});

export const chatPartFields: FieldTable = fieldTable({
  type: mapped("`text`, `image_url`, `file`, `refusal`; `input_audio` and others are refused"),
  text: mapped(
    "`text`; one without anything but white space, which Anthropic refuses, is left out",
  ),
  refusal: mapped("`text`"),
  image_url: mapped(
    "`url`: a `data:` URL → a `base64` source, `http:` and `https:` → a `url` source",
  ),
  file: mapped("`file_data`, a `data:` URL of a PDF or of plain text → a `document`"),
  cache_control: cacheControl,
  prompt_cache_breakpoint: cacheHint,
});

export const chatImageFields: FieldTable = fieldTable({
  url: mapped("`source`"),
  detail: leftOut("Anthropic looks at the whole picture"),
});

export const chatFileFields: FieldTable = fieldTable({
  file_data: mapped("`source`"),
  filename: mapped("`title`"),
  file_id: refused("which doesn't have the files of OpenAI: send `file_data`"),
});

export const chatToolDefinitionFields: FieldTable = fieldTable({
  type: mapped("others than `function` are refused"),
  function: mapped("the tool itself"),
  cache_control: cacheControl,
});

export const chatFunctionFields: FieldTable = fieldTable({
  name: mapped("`name`"),
  description: mapped("`description`"),
  parameters: mapped("`input_schema`, with `type: object` if it has no type"),
  strict: mapped("`strict`"),
});

export const chatResponseFormatFields: FieldTable = fieldTable({
  schema: mapped("`output_config.format.schema`"),
  name: leftOut("a label"),
  strict: leftOut("Anthropic always holds to the schema"),
  description: refused("which has no such field: put it into the schema"),
});
