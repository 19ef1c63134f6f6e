/**
 * The fields of a request for Anthropic messages, and what becomes of each when the model's
 * provider speaks chat completions. The shapes are those of the Anthropic API in November 2026.
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

const isFalse = (value: unknown): boolean => value === false;
const cacheHint = leftOut("a hint for Anthropic's cache, which changes no answer");
const atAnthropic = refused("which has no such setting");

export const messagesRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  messages: mapped(
    "`messages`; the last one must not be the assistant's, which chat completions can't continue",
  ),
  system: mapped("a `system` message before all others"),
  max_tokens: mapped(
    "`max_completion_tokens` at OpenAI and Azure, `max_tokens` at all others; 0 is refused",
  ),
  temperature: mapped("`temperature`"),
  top_p: mapped("`top_p`"),
  stop_sequences: mapped("`stop`"),
  stream: mapped("`stream`, with `stream_options.include_usage`"),
  tools: mapped("`tools`; those that Anthropic runs or defines are refused"),
  tool_choice: mapped(
    "`tool_choice`: `auto`, `none`, `any` → `required`, `tool` → a function; `disable_parallel_tool_use` → `parallel_tool_calls`",
  ),
  thinking: mapped(
    "`reasoning_effort`: `disabled` → `none`; `enabled` by its budget, up to 4,096 tokens → `low`, up to 16,384 → `medium`, above → `high`; `adaptive` and `display` say nothing; `between_tools` is refused",
  ),
  output_config: mapped(
    "`effort` → `reasoning_effort`, before a budget, not beside `thinking: disabled`; `format` → `response_format`",
  ),
  output_format: mapped("`response_format`, as `output_config.format`"),
  metadata: mapped(
    "`user_id` → `user`; one of more than 64 characters, which OpenAI refuses, is left out",
  ),
  service_tier: mapped("`auto` says nothing; `standard_only` → `default`"),
  cache_control: cacheHint,
  diagnostics: leftOut("notes on Anthropic's cache"),
  context_management: refused(
    "which forgets nothing of a conversation",
    "must only clear thinking",
    clearsThinkingOnly,
  ),
  top_k: refused("which has no such setting"),
  speed: refused("which has no such setting", "must be standard", (value) => value === "standard"),
  inference_geo: atAnthropic,
  container: atAnthropic,
  mcp_servers: refused("which calls no servers of its own", "must be empty", isEmptyList),
});

export const messagesOutputFields: FieldTable = fieldTable({
  effort: mapped("`reasoning_effort`"),
  format: mapped("`response_format`: its `schema`, with `strict` and the name `answer`"),
});

export const messagesTurnFields: FieldTable = fieldTable({
  role: mapped("`role`; `system` stays where it stands"),
  content: mapped("messages"),
});

export const messagesTextFields: FieldTable = fieldTable({
  type: mapped("`text`"),
  text: mapped("`text`"),
  cache_control: cacheHint,
  citations: leftOut("notes on an earlier answer"),
});

export const messagesImageFields: FieldTable = fieldTable({
  type: mapped("`image_url`"),
  source: mapped("`url`: `base64` → a `data:` URL, `url` as it is; `file` is refused"),
  cache_control: cacheHint,
  transformations: refused("which has no such setting"),
});

export const messagesDocumentFields: FieldTable = fieldTable({
  type: mapped("`file`"),
  source: mapped(
    "`file_data`: a PDF in `base64` or `text` → a `data:` URL; `url`, `file` and `content` are refused",
  ),
  title: mapped("`filename`"),
  cache_control: cacheHint,
  citations: refused(
    "which cites nothing",
    "must not be enabled",
    (value) => isObject(value) && value["enabled"] !== true,
  ),
  context: refused("which has no such field"),
});

export const messagesThinkingFields: FieldTable = fieldTable({
  type: mapped("`thinking`, `redacted_thinking`"),
  thinking: mapped(
    "`reasoning_content`, when it has no signature; what Anthropic's models have signed only they can read, and it is left out",
  ),
  signature: leftOut("proves to Anthropic what its model thought"),
  data: leftOut("only Anthropic's models can read it"),
});

export const messagesToolUseFields: FieldTable = fieldTable({
  type: mapped("`tool_calls`"),
  id: mapped("`id`"),
  name: mapped("`function.name`"),
  input: mapped("`function.arguments`, as a text"),
  cache_control: cacheHint,
  caller: refused(
    "whose tools are called by the model alone",
    "must be direct",
    (value) => isObject(value) && value["type"] === "direct",
  ),
  toolset_name: refused("which has no toolsets"),
});

export const messagesToolResultFields: FieldTable = fieldTable({
  type: mapped("a message of the role `tool`, before what else the user says"),
  tool_use_id: mapped("`tool_call_id`"),
  content: mapped(
    "`content`; images and documents, which it can't hold, go into a message of the user behind it",
  ),
  is_error: mapped("the text begins with `Error: `, unless it does so already"),
  cache_control: cacheHint,
  toolset_name: refused("which has no toolsets"),
});

export const messagesToolDefinitionFields: FieldTable = fieldTable({
  type: mapped("`function`; others than `custom` are refused"),
  name: mapped("`function.name`"),
  description: mapped("`function.description`"),
  input_schema: mapped("`function.parameters`"),
  strict: mapped("`function.strict`"),
  cache_control: cacheHint,
  eager_input_streaming: leftOut("how input is cut into events"),
  allowed_callers: refused(
    "whose tools are called by the model alone",
    'must be ["direct"]',
    (value) => Array.isArray(value) && value.every((one) => one === "direct"),
  ),
  defer_loading: refused("which has no search for tools", "must be false", isFalse),
  input_examples: refused(
    "which has no such field: put them into the description",
    "must be empty",
    isEmptyList,
  ),
});

/** Agents send this with each request; a chat provider is told no signed thinking anyway. */
function clearsThinkingOnly(value: unknown): boolean {
  const edits = isObject(value) ? (value["edits"] ?? []) : null;
  return (
    Array.isArray(edits) &&
    edits.every(
      (edit) =>
        isObject(edit) &&
        typeof edit["type"] === "string" &&
        edit["type"].startsWith("clear_thinking_"),
    )
  );
}
