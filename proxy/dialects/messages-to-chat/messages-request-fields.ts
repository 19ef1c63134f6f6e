/**
 * The fields of a request for Anthropic messages, and what they become if the model's provider
 * speaks chat completions, as of the Anthropic API in November 2026. docs/reference/dialects.md
 * shows the same tables.
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

const isFalse = (value: unknown): boolean => value === false;
const cacheHint = leftOut("a hint for Anthropic's cache, which changes no answer");
const noSuchSetting = dropped("which has no such setting");

export const messagesRequestFields: FieldTable = fieldTable({
  model: mapped("`model`"),
  messages: mapped(
    "refused if the last message is the assistant's, because chat completions can't continue it",
  ),
  system: mapped(
    "a `system` message; Claude Code's `x-anthropic-billing-header` in it is left out",
  ),
  max_tokens: mapped(
    "`max_completion_tokens` at OpenAI and Azure, `max_tokens` at all others; 0 is refused",
  ),
  temperature: mapped("`temperature`"),
  top_p: mapped("`top_p`"),
  stop_sequences: mapped("`stop`"),
  stream: mapped("`stream`"),
  tools: mapped(
    "tools that Anthropic runs are dropped, except a web search that [Sluice runs](../web-search.md); tools that Anthropic defines and clients run are refused",
  ),
  tool_choice: mapped(
    "`disable_parallel_tool_use` → `parallel_tool_calls`; the choice of a dropped tool is dropped",
  ),
  thinking: mapped(
    "`reasoning_effort`: `disabled` and `between_tools` → `none`, if the model takes it; a budget up to 4,096 tokens → `low`, up to 16,384 → `medium`, above → `high`; no budget → `medium`. Over the Responses API, thinking that is to be shown → `reasoning.summary`",
  ),
  output_config: mapped(
    "`effort` takes precedence over a thinking budget, and is dropped beside `thinking: disabled`",
  ),
  output_format: mapped("`response_format`"),
  metadata: mapped("`user_id` → `user`; with more than 64 characters left out"),
  service_tier: mapped("`standard_only` → `default`"),
  cache_control: cacheHint,
  diagnostics: leftOut("diagnostics of Anthropic's cache"),
  context_management: dropped(
    "which never edits the conversation",
    "must only clear thinking",
    clearsThinkingOnly,
  ),
  top_k: noSuchSetting,
  speed: mapped("`fast` → `service_tier: priority`"),
  safeguards: refused("which has no safety check of agents: clients then run their own"),
  inference_geo: refused("which doesn't promise a place"),
  container: refused("which has no containers"),
  thread: refused("which keeps no conversations"),
  mcp_servers: refused("which can't call MCP servers", "must be empty", isEmptyList),
});

export const messagesOutputFields: FieldTable = fieldTable({
  effort: mapped("`reasoning_effort`"),
  format: mapped(
    "`response_format` with the name `answer`; `strict` if every object of the schema requires all of its fields and allows no others",
  ),
});

export const messagesTurnFields: FieldTable = fieldTable({
  role: mapped("`role`"),
  content: mapped("`content`"),
});

export const messagesTextFields: FieldTable = fieldTable({
  type: mapped("`text`"),
  text: mapped("`text`"),
  cache_control: cacheHint,
  citations: leftOut("citations of an earlier answer"),
});

export const messagesImageFields: FieldTable = fieldTable({
  type: mapped("`image_url`"),
  source: mapped("`file` is refused"),
  cache_control: cacheHint,
  transformations: noSuchSetting,
});

export const messagesDocumentFields: FieldTable = fieldTable({
  type: mapped("`file`"),
  source: mapped(
    "`file` and `content` are refused; `url` too if the provider speaks chat completions",
  ),
  title: mapped("`filename`"),
  cache_control: cacheHint,
  citations: dropped(
    "which has no citations",
    "must not be enabled",
    (value) => isObject(value) && value["enabled"] !== true,
  ),
  context: refused("which has no such field"),
});

export const messagesSearchResultFields: FieldTable = fieldTable({
  type: mapped("one `text` of title, source and content"),
  source: mapped("`text`"),
  title: mapped("`text`"),
  content: mapped("`text`"),
  cache_control: cacheHint,
  citations: dropped(
    "which has no citations",
    "must not be enabled",
    (value) => isObject(value) && value["enabled"] !== true,
  ),
});

export const messagesToolReferenceFields: FieldTable = fieldTable({
  type: mapped("`text`"),
  tool_name: mapped("a text that says that the tool is loaded; Sluice always sends all tools"),
  cache_control: cacheHint,
});

export const messagesThinkingFields: FieldTable = fieldTable({
  type: mapped("`type`"),
  thinking: mapped(
    "`reasoning_content`; thinking that Anthropic signed is left out; reasoning that OpenAI encrypted goes back to OpenAI",
  ),
  signature: leftOut("proves to Anthropic that the thinking is its model's"),
  data: leftOut("only Anthropic's models can read it"),
});

export const messagesToolUseFields: FieldTable = fieldTable({
  type: mapped("`tool_calls`"),
  id: mapped("`id`"),
  name: mapped("`function.name`"),
  input: mapped("`function.arguments`"),
  cache_control: cacheHint,
  caller: refused(
    "where only the model calls tools",
    "must be direct",
    (value) => isObject(value) && value["type"] === "direct",
  ),
  toolset_name: dropped("which has no toolsets"),
});

export const messagesToolResultFields: FieldTable = fieldTable({
  type: mapped("`role`"),
  tool_use_id: mapped("`tool_call_id`"),
  content: mapped("`content`"),
  is_error: mapped("the text gets the prefix `Error: `, unless it already begins with `error`"),
  cache_control: cacheHint,
  toolset_name: dropped("which has no toolsets"),
});

export const messagesToolDefinitionFields: FieldTable = fieldTable({
  type: mapped("`function`"),
  name: mapped(
    "shortened if it has more than 64 characters, or others than letters, digits, `_` and `-`; answers have the client's name",
  ),
  description: mapped("`function.description`"),
  input_schema: mapped("`anyOf` and the like at the top level are dropped"),
  strict: mapped("`function.strict`"),
  cache_control: cacheHint,
  eager_input_streaming: leftOut("only changes how the input is split into events"),
  allowed_callers: dropped(
    "where only the model calls tools",
    'must be ["direct"]',
    (value) => Array.isArray(value) && value.every((allowed) => allowed === "direct"),
  ),
  defer_loading: dropped(
    "which has no tool search, so the tool is loaded at once",
    "must be false",
    isFalse,
  ),
  input_examples: dropped(
    "which has no such field: put them into the description",
    "must be empty",
    isEmptyList,
  ),
});

/**
 * Whether the value only clears thinking, as agents request each time: signed thinking isn't sent
 * to chat providers anyway.
 */
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
