/** Rules for chat completions that no shape says: pairing, order, and what goes with what. */
import { isJson, type Json, listOf, type Rule } from "./shape.js";

const messagesOf = (body: Json): readonly Json[] => listOf(body["messages"]);
const hasTools = (body: Json): boolean => listOf(body["tools"]).length > 0;

/** The first message of which something is wrong. */
function everyMessage(
  problem: (message: Json, i: number, messages: readonly Json[]) => string | null,
): Rule["problem"] {
  return (body) => {
    const messages = messagesOf(body);
    for (const [i, message] of messages.entries()) {
      const found = problem(message, i, messages);
      if (found !== null) return `messages[${i}]: ${found}`;
    }
    return null;
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

/** Every call has exactly one result, directly behind it, and every result its call. */
export const pairsCalls: Rule = {
  source: "https://github.com/agno-agi/agno/issues/4345",
  problem(body) {
    let open: string[] = [];
    for (const [i, message] of messagesOf(body).entries()) {
      if (message["role"] === "tool") {
        const id = String(message["tool_call_id"]);
        if (!open.includes(id))
          return `messages[${i}]: 'tool' must be a response to a preceding message with 'tool_calls'; ${id} isn't called`;
        open = open.filter((other) => other !== id);
        continue;
      }
      if (open.length > 0)
        return `messages[${i}]: 'tool_calls' must be followed by tool messages; without: ${open.join(", ")}`;
      open = listOf(message["tool_calls"]).map(({ id }) => String(id));
      if (new Set(open).size < open.length) return `messages[${i}]: two calls have one id`;
    }
    return open.length > 0 ? `calls without results: ${open.join(", ")}` : null;
  },
};

export const argumentsAreJson: Rule = {
  source: "https://github.com/vllm-project/vllm/issues/11775",
  problem: everyMessage((message) => {
    for (const { function: called } of listOf(message["tool_calls"])) {
      const written = isJson(called) ? called["arguments"] : undefined;
      try {
        if (isJson(JSON.parse(String(written)))) continue;
      } catch {
        // Said below.
      }
      return `the arguments of a call aren't a JSON object: ${String(written)}`;
    }
    return null;
  }),
};

export const assistantSaysSomething: Rule = {
  source:
    "https://github.com/openai/openai-openapi (assistant content: required unless tool_calls is specified)",
  problem: everyMessage((message) =>
    message["role"] === "assistant" &&
    message["tool_calls"] === undefined &&
    typeof message["refusal"] !== "string" &&
    textOf(message["content"]) === ""
      ? "an assistant's message needs content or tool_calls"
      : null,
  ),
};

export const toolFieldsNeedTools: Rule = {
  source:
    "https://community.openai.com/t/parallel-tool-calls-is-only-allowed-when-tools-are-specified",
  problem: (body) =>
    !hasTools(body) &&
    (body["parallel_tool_calls"] !== undefined || body["tool_choice"] !== undefined)
      ? "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified"
      : null,
};

export const streamOptionsNeedStream: Rule = {
  source: "https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options",
  problem: (body) =>
    body["stream_options"] != null && body["stream"] !== true
      ? "The 'stream_options' parameter is only allowed when 'stream' is enabled."
      : null,
};

/** Strict functions and schemas: every object closed, every property required. */
export const strictSchemas: Rule = {
  source: "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas",
  problem(body) {
    for (const { function: definition } of listOf(body["tools"]))
      if (isJson(definition) && definition["strict"] === true) {
        const problem = notStrict(definition["parameters"]);
        if (problem !== null) return `tool ${String(definition["name"])}: ${problem}`;
      }
    const format = isJson(body["response_format"]) ? body["response_format"]["json_schema"] : null;
    return isJson(format) && format["strict"] === true ? notStrict(format["schema"]) : null;
  },
};

export function notStrict(schema: unknown): string | null {
  if (!isJson(schema)) return null;
  if (isJson(schema["properties"])) {
    if (schema["additionalProperties"] !== false)
      return "'additionalProperties' is required to be supplied and to be false";
    const required = Array.isArray(schema["required"]) ? schema["required"] : [];
    for (const [name, property] of Object.entries(schema["properties"])) {
      if (!required.includes(name))
        return `'required' is required to be supplied and to be an array including every key in properties; missing '${name}'`;
      const problem = notStrict(property);
      if (problem !== null) return problem;
    }
  }
  return notStrict(schema["items"]);
}

const isUnset = (value: unknown): boolean =>
  value === undefined || value === null || value === false;

/**
 * The values of the reasoning effort, by the models' pages:
 * https://platform.openai.com/docs/guides/reasoning, https://platform.openai.com/docs/models
 */
export function effortsOf(model: string, api: "chat" | "responses" = "chat"): readonly string[] {
  const minor = /^gpt-5\.(\d)/.exec(model)?.[1];
  if (/^o\d/.test(model)) return ["low", "medium", "high"];
  // mnfst/modelparams.dev#236, experientiallabs/experiential#764, BerriAI/litellm-docs#1173
  if (/^gpt-(?:5\.[6-9]|6)/.test(model)) {
    const efforts = ["none", "low", "medium", "high", "xhigh", ...(api === "chat" ? [] : ["max"])];
    return isAstra(model) ? efforts.slice(1) : efforts;
  }
  if (minor === undefined) return ["minimal", "low", "medium", "high"];
  return ["none", "low", "medium", "high", ...(Number(minor) >= 2 ? ["xhigh"] : [])];
}

/** It always reasons: bolna-ai/bolna#1019. */
export function isAstra(model: string): boolean {
  return /^gpt-6(?:\.\d)?-astra/.test(model);
}

/** From gpt-5 on and o-series: no sampling, `max_completion_tokens`. */
export const openaiReasoning: Rule = {
  source: "https://platform.openai.com/docs/guides/latest-model#gpt-5-2-parameter-compatibility",
  problem(body) {
    const { reasoning_effort: effort, model } = body;
    const name = String(model);
    if (!/^(?:gpt-[56]|o\d)/.test(name)) {
      return effort === undefined || effort === null
        ? null
        : "Unrecognized request argument supplied: reasoning_effort";
    }
    if (body["max_tokens"] !== undefined)
      return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const taken = effortsOf(name);
    if (effort != null && !taken.includes(String(effort)))
      return `Unsupported value: 'reasoning_effort' does not support '${String(effort)}' with this model. Supported values are: ${taken.join(", ")}.`;
    const unasked = /^gpt-5\.[1-4]/.test(name) ? "none" : "medium";
    const thinks = !/^gpt-(?:5\.[1-9]|6)/.test(name) || (effort ?? unasked) !== "none";
    for (const field of ["stop", ...(thinks ? ["logprobs", "top_logprobs", "logit_bias"] : [])])
      if (!isUnset(body[field]))
        return `Unsupported parameter: '${field}' is not supported with this model.`;
    for (const field of ["temperature", "top_p", "presence_penalty", "frequency_penalty"])
      if (thinks && body[field] !== undefined && body[field] !== (field.endsWith("y") ? 0 : 1))
        return `Unsupported value: '${field}' does not support ${String(body[field])} with this model. Only the default value is supported.`;
    return null;
  },
};

export const noEffortWithTools: Rule = {
  source:
    "https://github.com/openai/openai-openapi/issues/541, https://github.com/BerriAI/litellm/pull/34569",
  problem(body) {
    const { model, reasoning_effort: effort } = body;
    const is6 = String(model).startsWith("gpt-6");
    const version = is6 ? 10 : Number(/^gpt-5\.(\d)/.exec(String(model))?.[1] ?? 0);
    if (version < 4 || !hasTools(body)) return null;
    if (isAstra(String(model)))
      return `Function tools are not supported for ${String(model)} in /v1/chat/completions.`;
    // From 5.5 on the models think unless they are told not to.
    return effort === "none" || (version === 4 && (effort === undefined || effort === null))
      ? null
      : `Function tools with reasoning_effort are not supported for ${String(model)} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
  },
};

/** `limits`: by the beginning of the model's name. */
export function outputTokensMax(limits: Readonly<Record<string, number>>): Rule {
  return {
    source: "https://platform.openai.com/docs/models",
    problem(body) {
      const asked = Number(body["max_completion_tokens"] ?? body["max_tokens"] ?? 0);
      const found = Object.entries(limits).find(([name]) => String(body["model"]).startsWith(name));
      return found !== undefined && asked > found[1]
        ? `max_tokens is too large: ${asked}. This model supports at most ${found[1]} completion tokens`
        : null;
    },
  };
}

/** DeepSeek and Kimi, while they think: the reasoning of every message that calls tools. */
export function reasoningWithCalls(source: string): Rule {
  return {
    source,
    problem: everyMessage((message) =>
      message["tool_calls"] !== undefined &&
      (typeof message["reasoning_content"] !== "string" || message["reasoning_content"] === "")
        ? "Missing `reasoning_content` field in the assistant message with tool calls"
        : null,
    ),
  };
}

export const noSchemas: Rule = {
  source: "https://api-docs.deepseek.com/guides/json_mode",
  problem(body) {
    const { response_format: format } = body;
    if (!isJson(format)) return null;
    if (format["type"] === "json_schema") return "This response_format type is unavailable now";
    return format["type"] === "json_object" &&
      !/json/i.test(
        messagesOf(body)
          .map(({ content }) => textOf(content))
          .join(" "),
      )
      ? "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
      : null;
  },
};

export const onlyTemperatureOne: Rule = {
  source: "https://github.com/BerriAI/litellm/pull/29687",
  problem: ({ temperature, model }) =>
    /^kimi-k[2-9]\.\d/.test(String(model)) && temperature !== undefined && temperature !== 1
      ? "invalid temperature: only 1 is allowed for this model"
      : null,
};

export const mistralOrder: Rule = {
  source:
    "https://github.com/avante-corp/avante.nvim/pull/2695, https://github.com/charmbracelet/crush/issues/279",
  problem: everyMessage(({ role }, i, messages) => {
    const before = messages[i - 1]?.["role"];
    if (role === "user" && before === "tool") return "Unexpected role 'user' after role 'tool'";
    if (role === "system" && (before === "tool" || before === "assistant"))
      return `Unexpected role 'system' after role '${before}'`;
    return i === messages.length - 1 && role !== "user" && role !== "tool"
      ? `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${String(role)}`
      : null;
  }),
};

export const nineCharacterIds: Rule = {
  source: "https://github.com/anomalyco/opencode/issues/1680",
  problem: everyMessage((message) => {
    const ids = [message["tool_call_id"], ...listOf(message["tool_calls"]).map(({ id }) => id)];
    const wrong = ids.find((id) => id !== undefined && !/^[a-zA-Z0-9]{9}$/.test(String(id)));
    return wrong === undefined
      ? null
      : `Tool call id was ${String(wrong)} but must be a-z, A-Z, 0-9, with a length of 9.`;
  }),
};

export const systemFirst: Rule = {
  source:
    "https://github.com/vllm-project/vllm/issues/41114, https://github.com/ollama/ollama/issues/17774",
  problem: everyMessage(({ role }, i) =>
    role === "system" && i > 0 ? "System message must be at the beginning." : null,
  ),
};

export const needsUser: Rule = {
  source: "https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja",
  problem: (body) =>
    messagesOf(body).some(({ role }) => role === "user")
      ? null
      : "No user query found in messages.",
};

export const thoughtSignatures: Rule = {
  source: "https://ai.google.dev/gemini-api/docs/thought-signatures",
  problem(body) {
    const messages = messagesOf(body);
    const turn = messages.findLastIndex(({ role }) => role === "user");
    for (const [i, message] of messages.entries()) {
      const [first] = listOf(message["tool_calls"]);
      if (i < turn || first === undefined) continue;
      const extra = isJson(first["extra_content"]) ? first["extra_content"]["google"] : null;
      if (!isJson(extra) || typeof extra["thought_signature"] !== "string")
        return `messages[${i}]: Function call is missing a thought_signature in functionCall parts.`;
    }
    return null;
  },
};

/** Fields whose only value that is taken is this one. */
export function onlyValues(source: string, values: Readonly<Record<string, unknown>>): Rule {
  return {
    source,
    problem(body) {
      const wrong = Object.entries(values).find(
        ([field, value]) => ![undefined, null, value].includes(body[field] as never),
      );
      return wrong === undefined ? null : `'${wrong[0]}' : unsupported value`;
    },
  };
}
