/**
 * The fields of a chat request, and what they become if the model reasons with tools only through
 * the Responses API, as of the OpenAI API in November 2026. docs/reference/dialects.md shows the
 * same tables.
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

const isZero = (value: unknown): boolean => value === 0;
const unchanged = mapped("the same");
const participant = dropped("which has no participant names");
const anthropicCache = leftOut("a hint for Anthropic's cache, which changes no answer");
const onlyGemini = leftOut("signatures that only Gemini's models can read");
const foreignReasoning = leftOut("OpenAI takes back only reasoning that it has encrypted");

export const chatRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  messages: mapped("`input`"),
  max_completion_tokens: mapped("`max_output_tokens`, at least 16"),
  max_tokens: mapped("`max_output_tokens`"),
  temperature: unchanged,
  top_p: unchanged,
  stream: unchanged,
  stream_options: leftOut("Sluice sends the usage chunk itself, and never obfuscates"),
  tools: mapped("without `strict`, a function gets `strict: false`"),
  tool_choice: mapped("`tool_choice`"),
  parallel_tool_calls: unchanged,
  response_format: mapped("`text.format`"),
  verbosity: mapped("`text.verbosity`"),
  reasoning_effort: mapped("`reasoning.effort`"),
  reasoning: mapped("OpenRouter's field, as `reasoning_effort`; `max_tokens` as a budget"),
  user: unchanged,
  safety_identifier: unchanged,
  prompt_cache_key: unchanged,
  prompt_cache_options: unchanged,
  prompt_cache_retention: unchanged,
  service_tier: unchanged,
  metadata: unchanged,
  logprobs: mapped("`include`"),
  top_logprobs: unchanged,
  store: dropped("whose responses are asked not to be stored", "must be false", (v) => v === false),
  seed: leftOut("no provider guarantees that it has an effect"),
  prediction: leftOut("only makes OpenAI's answer faster"),
  n: refused("which returns one answer", "must be 1", (value) => value === 1),
  stop: dropped("which has no stop sequences", "must be empty", isEmptyList),
  frequency_penalty: dropped("which has no penalties", "must be 0", isZero),
  presence_penalty: dropped("which has no penalties", "must be 0", isZero),
  logit_bias: dropped(
    "which has no token biases",
    "must be empty",
    (value) => isObject(value) && Object.keys(value).length === 0,
  ),
  modalities: refused(
    "which only returns text",
    'must be ["text"]',
    (value) => Array.isArray(value) && value.every((modality) => modality === "text"),
  ),
  audio: refused("which only returns text"),
  moderation: refused("which has no such setting"),
  web_search_options: refused("which offers web search as a tool"),
  functions: refused("which has tools instead: use `tools`", "must be empty", isEmptyList),
  function_call: refused("which has tools instead: use `tool_choice`"),
});

export const chatMessageFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`content`"),
  name: participant,
  cache_control: anthropicCache,
  tool_call_id: mapped("`call_id`"),
});

export const chatAssistantFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`output_text`"),
  refusal: mapped("`refusal`"),
  tool_calls: mapped("`input`"),
  thinking_blocks: mapped(
    "`reasoning` before the text, if this provider encrypted it; otherwise left out",
  ),
  reasoning_content: foreignReasoning,
  reasoning: foreignReasoning,
  reasoning_details: foreignReasoning,
  annotations: leftOut("citations of an earlier answer"),
  extra_content: onlyGemini,
  parsed: leftOut("added by OpenAI's SDK: the parsed `content`"),
  cache_control: anthropicCache,
  name: participant,
  audio: refused("which has no audio"),
  function_call: refused("which has tools instead: use `tool_calls`"),
});

export const chatPartFields: FieldTable = fieldTable({
  type: mapped("`type`"),
  text: unchanged,
  refusal: unchanged,
  image_url: mapped("`image_url`"),
  file: mapped("`file`"),
  input_audio: unchanged,
  cache_control: anthropicCache,
  prompt_cache_breakpoint: unchanged,
});

export const chatToolCallFields: FieldTable = fieldTable({
  id: mapped("`call_id`"),
  type: mapped("`type`"),
  function: mapped("`arguments`"),
  custom: mapped("`input`"),
  index: leftOut("the position in a stream"),
  extra_content: onlyGemini,
});

export const chatToolFields: FieldTable = fieldTable({
  type: mapped("`type`"),
  function: mapped("`tools[]`"),
  custom: mapped("`tools[]`"),
  cache_control: anthropicCache,
});
