import t from "tap";
import { refusedPart } from "../../../../proxy/upstream/errors/refused-part.js";

interface Said {
  readonly status?: number;
  readonly code?: string;
  readonly param?: string;
}

function part(message: string, { status = 400, code, param }: Said = {}): unknown {
  const found = refusedPart({ status, code: code ?? null, param: param ?? null, message });
  if (found === null) return null;
  return found.kind === "reasoning"
    ? "reasoning"
    : `${found.path}${found.isLasting ? "" : " once"}`;
}

t.test("optional fields that hosts and models refuse, in their own words", async (t) => {
  const cases: readonly (readonly [string, string | null, Said?])[] = [
    ["Unrecognized request argument supplied: stream_options", "stream_options"],
    ["Unrecognized request arguments supplied: parallel_tool_calls, user", "parallel_tool_calls"],
    [
      "Unsupported parameter: 'temperature' is not supported with this model.",
      "temperature",
      { code: "unsupported_parameter", param: "temperature" },
    ],
    [
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      "temperature",
      { code: "unsupported_value", param: "temperature" },
    ],
    [
      "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model.",
      "reasoning_effort once",
      { code: "unsupported_value", param: "reasoning_effort" },
    ],
    [
      "Your organization must be verified to generate reasoning summaries.",
      "reasoning.summary once",
      { code: "unsupported_value", param: "reasoning.summary" },
    ],
    [
      "Unsupported value: 'low' is not supported with the 'gpt-4.1' model.",
      "text.verbosity once",
      { code: "unsupported_value", param: "text.verbosity" },
    ],
    ["Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key", { code: "unknown_parameter" }],
    [
      "Unexpected value(s) `a-2026-01-05`, `b-2025-12-15` for the `anthropic-beta` header. Please consult our documentation.",
      "anthropic-beta: a-2026-01-05 b-2025-12-15",
    ],
    ["invalid beta flag", "anthropic-beta once"],
    ["temperature: Extra inputs are not permitted", "temperature"],
    ["safeguards: Extra inputs are not permitted", null],
    ["output_config: Extra inputs are not permitted", "output_config.effort"],
    ["thinking.adaptive.display: Extra inputs are not permitted", "thinking.display"],
    ["`temperature` is deprecated for this model.", "temperature"],
    ["adaptive thinking is not supported on this model", "thinking"],
    ['"thinking.type.adaptive" is not supported for this model', "thinking"],
    ["This model does not support the effort parameter.", "output_config.effort"],
    ["Extra inputs are not permitted", "seed", { status: 422, param: "body.seed" }],
    ["property 'store' is unsupported", "store"],
    ["Encrypted content is not supported with this model.", "include"],
    ["stream_options is not supported", "stream_options"],
    ["tools.0.custom.defer_loading: Extra inputs are not permitted", "tools[].defer_loading"],
    ["system.1.cache_control.scope: Extra inputs are not permitted", "system[].scope"],
    [
      "Unknown parameter: 'messages[1].reasoning_content'.",
      "messages[].reasoning_content",
      { code: "unknown_parameter", param: "messages[1].reasoning_content" },
    ],
    ["Unknown parameter: 'tools[0].strict'.", "tools[].strict"],
    // The client has to change the request.
    ["Invalid 'temperature': decimal above maximum value.", null, { param: "temperature" }],
    ["Unsupported parameter: 'messages' is not supported.", null, { param: "messages" }],
    ["Unknown parameter: 'tools[0].foo'.", null, { param: "tools[0].foo" }],
    ["tools: Extra inputs are not permitted", null],
    ["messages.0.content: Extra inputs are not permitted", null],
    ["output_config.format: Extra inputs are not permitted", null],
    ["temperature is not supported", null, { status: 500, param: "temperature" }],
    ["The model is not supported", null],
    // A mistake of one client must not cost others the whole field.
    ["thinking.enabled.foo: Extra inputs are not permitted", null],
    ["context_management.edits.0.foo: Extra inputs are not permitted", null],
    [
      "Invalid value: 'Unsupported parameter: 'reasoning''. Supported values are: 'low' and 'high'.",
      null,
      { code: "invalid_value", param: "reasoning.effort" },
    ],
    // Where the model runs is no preference.
    ["inference_geo: Extra inputs are not permitted", null],
    ["constructor: Extra inputs are not permitted", null],
  ];
  for (const [message, expected, said] of cases) t.equal(part(message, said), expected, message);
});

t.test("reasoning that another account made", async (t) => {
  const cases: readonly (readonly [string, Said?])[] = [
    ["no words", { code: "invalid_encrypted_content" }],
    ["The encrypted content for item rs_1 could not be verified. Reason: x"],
    ["Item with id 'rs_1' not found. Items are not persisted.", { status: 404 }],
    ["messages.1.content.0: Invalid `signature` in `thinking` block"],
    ["messages.3.content.0: The block is bound to a different conversation."],
    [
      "messages.1.content.2: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    ],
    ["Reasoning input items can only be provided to a reasoning or computer use model."],
    ["Thought signature is not valid"],
    ["Corrupted thought signature."],
  ];
  for (const [message, said] of cases) t.equal(part(message, said), "reasoning", message);
  t.equal(part("Item with id 'msg_1' not found.", { status: 404 }), null);
});
