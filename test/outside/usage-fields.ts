/**
 * What becomes of each field of usage in the types that providers publish: each is put alone into a
 * report and read. The fields of OpenAI and Anthropic come from the types of their SDKs, so that a
 * new one shows when the SDK is updated; those of others are listed here, with the version of the
 * package.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findUsage } from "../../proxy/usage/find-usage.js";
import { readUsage } from "../../proxy/usage/read-usage.js";
import { noUsage } from "../../proxy/usage/usage.js";
import { detailFields, detailNames } from "../../shared/usage/usage-details.js";
import { root } from "../tidy/source-tree.js";

type Fields = Readonly<Record<string, unknown>>;

interface UsageType {
  readonly provider: string;
  /** The package and the type. */
  readonly source: string;
  /** The paths of its fields: listed, or read from an SDK's types. */
  readonly fields: readonly string[];
  /** A report that leaves out nothing that is needed. */
  readonly base: Fields;
  /** An answer with this usage; by default in its member `usage`. */
  readonly answer?: (usage: Fields) => Fields;
}

/** The members of an interface, with those of the interfaces in it as paths. */
export function fieldsOfType(text: string, type: string, from = 0): string[] {
  const start = text.indexOf(`interface ${type} {`, from);
  if (start === -1) return [];
  const fields: string[] = [];
  let depth = 0;
  for (const line of text.slice(start).split("\n")) {
    const member = /^\s+(\w+)\??: (.+);$/.exec(line);
    if (depth === 1 && member !== null) {
      const [, name = "", value = ""] = member;
      const inner =
        /^[\w.]+$/
          .exec(value.replace(/ \| null$/, ""))?.[0]
          .split(".")
          .pop() ?? "";
      const isOther = inner !== "" && inner !== type;
      const within = isOther ? fieldsOfType(text, inner, innerFrom(text, inner, start)) : [];
      if (within.length === 0) fields.push(name);
      else fields.push(...within.map((field) => `${name}.${field}`));
    }
    if (!/^\s*(?:\/\*)?\*/.test(line)) depth += count(line, "{") - count(line, "}");
    if (depth === 0) break;
  }
  return fields;
}

/** Types in a namespace come after the type that uses them; others are anywhere. */
function innerFrom(text: string, type: string, start: number): number {
  return text.indexOf(`interface ${type} {`, start) === -1 ? 0 : start;
}

function count(line: string, character: string): number {
  return line.split(character).length - 1;
}

function sdkFields(path: string, type: string): string[] {
  return fieldsOfType(readFileSync(join(root, "node_modules", path), "utf8"), type);
}

const tokens = { input_tokens: 1000, output_tokens: 500 };
const writtenTokens = { input_tokens_details: { cache_write_tokens: 300 } };
const chatTokens = { prompt_tokens: 1000, completion_tokens: 500 };
const googleTokens = { promptTokenCount: 1000, candidatesTokenCount: 500 };
const cacheTokens = { cache_creation_input_tokens: 100, cache_read_input_tokens: 100 };

export const usageTypes: readonly UsageType[] = [
  {
    provider: "OpenAI",
    source: "openai CompletionUsage",
    fields: sdkFields("openai/resources/completions.d.ts", "CompletionUsage"),
    base: chatTokens,
  },
  {
    provider: "OpenAI",
    source: "openai ResponseUsage",
    fields: sdkFields("openai/resources/responses/responses.d.ts", "ResponseUsage"),
    base: { ...tokens, ...writtenTokens },
  },
  {
    provider: "OpenAI",
    source: "openai RealtimeResponseUsage",
    fields: sdkFields("openai/resources/realtime/realtime.d.ts", "RealtimeResponseUsage"),
    base: {
      ...tokens,
      input_token_details: { audio_tokens: 500, image_tokens: 100, cached_tokens: 300 },
    },
  },
  {
    provider: "Anthropic",
    source: "@anthropic-ai/sdk BetaUsage",
    fields: sdkFields("@anthropic-ai/sdk/resources/beta/messages/messages.d.ts", "BetaUsage"),
    base: { ...tokens, ...cacheTokens },
  },
  {
    provider: "Google",
    source: "@google/genai 2.32.0 GenerateContentResponseUsageMetadata",
    fields: [
      "cacheTokensDetails",
      "cachedContentTokenCount",
      "candidatesTokenCount",
      "candidatesTokensDetails",
      "promptTokenCount",
      "promptTokensDetails",
      "serviceTier",
      "thoughtsTokenCount",
      "toolUsePromptTokenCount",
      "toolUsePromptTokensDetails",
      "totalTokenCount",
      "trafficType",
    ],
    base: {
      ...googleTokens,
      cachedContentTokenCount: 300,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 500 }],
    },
    answer: (usageMetadata) => ({ usageMetadata }),
  },
  {
    provider: "Mistral",
    source: "@mistralai/mistralai 2.7.0 UsageInfo",
    fields: [
      "prompt_tokens",
      "completion_tokens",
      "total_tokens",
      "prompt_audio_seconds",
      "service_tier",
    ],
    base: chatTokens,
  },
  {
    provider: "Mistral",
    source: "@mistralai/mistralai 2.7.0 ConversationUsageInfo",
    fields: ["connector_tokens", "connectors.web_search"],
    base: { ...chatTokens, total_tokens: 1600 },
  },
  {
    provider: "Mistral",
    source: "@mistralai/mistralai 2.7.0 OCRUsageInfo",
    fields: ["pages_processed", "doc_size_bytes"],
    base: {},
    answer: (usage_info) => ({ usage_info }),
  },
  {
    provider: "Groq",
    source: "groq-sdk 1.6.0 CompletionUsage",
    fields: [
      "completion_tokens",
      "prompt_tokens",
      "total_tokens",
      "completion_time",
      "completion_tokens_details.reasoning_tokens",
      "prompt_time",
      "prompt_tokens_details.cached_tokens",
      "queue_time",
      "total_time",
    ],
    base: chatTokens,
  },
  {
    provider: "Cohere",
    source: "cohere-ai 8.1.0 ApiMetaBilledUnits",
    fields: [
      "images",
      "input_tokens",
      "image_tokens",
      "output_tokens",
      "search_units",
      "classifications",
      "pages",
    ],
    base: tokens,
    answer: (billed_units) => ({ meta: { billed_units } }),
  },
  {
    provider: "xAI",
    source: "@ai-sdk/xai 3.0.138 xaiUsageSchema",
    fields: [
      "prompt_tokens",
      "completion_tokens",
      "total_tokens",
      "cost_in_usd_ticks",
      "prompt_tokens_details.text_tokens",
      "prompt_tokens_details.audio_tokens",
      "prompt_tokens_details.image_tokens",
      "prompt_tokens_details.cached_tokens",
      "completion_tokens_details.reasoning_tokens",
      "completion_tokens_details.audio_tokens",
      "completion_tokens_details.accepted_prediction_tokens",
      "completion_tokens_details.rejected_prediction_tokens",
    ],
    base: chatTokens,
  },
  {
    provider: "DeepSeek",
    source: "@ai-sdk/deepseek 2.0.69 tokenUsageSchema",
    fields: [
      "prompt_tokens",
      "completion_tokens",
      "prompt_cache_hit_tokens",
      "prompt_cache_miss_tokens",
      "total_tokens",
      "prompt_tokens_details.cached_tokens",
      "completion_tokens_details.reasoning_tokens",
    ],
    base: chatTokens,
  },
  {
    provider: "OpenRouter",
    source: "@openrouter/sdk 1.3.19 ChatUsage",
    fields: [
      "prompt_tokens",
      "completion_tokens",
      "total_tokens",
      "cost",
      "is_byok",
      "prompt_tokens_details.cached_tokens",
      "prompt_tokens_details.cache_write_tokens",
      "prompt_tokens_details.audio_tokens",
      "prompt_tokens_details.video_tokens",
      "completion_tokens_details.reasoning_tokens",
      "completion_tokens_details.audio_tokens",
      "completion_tokens_details.accepted_prediction_tokens",
      "completion_tokens_details.rejected_prediction_tokens",
      "cost_details.upstream_inference_cost",
      "cost_details.upstream_inference_prompt_cost",
      "cost_details.upstream_inference_completions_cost",
      "cost_details.server_tool_cost",
      "server_tool_use_details.web_search_requests",
      "server_tool_use_details.tool_calls_requested",
      "server_tool_use_details.tool_calls_executed",
    ],
    base: { ...chatTokens, cost: 1, is_byok: true, cost_details: { upstream_inference_cost: 2 } },
  },
  {
    provider: "Bedrock",
    source: "@aws-sdk/client-bedrock-runtime 3.1164.0 TokenUsage",
    fields: [
      "inputTokens",
      "outputTokens",
      "totalTokens",
      "cacheReadInputTokens",
      "cacheWriteInputTokens",
      "cacheDetails",
    ],
    base: { inputTokens: 1000, outputTokens: 500, cacheWriteInputTokens: 100 },
  },
  {
    provider: "Bedrock",
    source: "@aws-sdk/client-bedrock-runtime 3.1164.0 ConverseResponse",
    fields: ["serviceTier.type", "usage.outputTokens"],
    base: { usage: { inputTokens: 1000, outputTokens: 500 } },
    answer: (answer) => answer,
  },
];

/** Why a field isn't read. */
export const unread: Readonly<Record<string, string>> = {
  "completion_tokens_details.accepted_prediction_tokens": "within the output",
  "completion_tokens_details.rejected_prediction_tokens": "within the output",
  "input_token_details.text_tokens": "the rest of the input",
  "input_token_details.cached_tokens_details.text_tokens": "the rest of the cached input",
  "output_token_details.text_tokens": "the rest of the output",
  "cache_creation.ephemeral_5m_input_tokens": "the rest of what is written",
  "input_tokens_details.cache_write_tokens_details.ttl_30m_tokens": "the rest of what is written",
  "completion_tokens_details.text_tokens": "the rest of the output",
  "server_tool_use.web_fetch_requests": "free",
  "prompt_tokens_details.text_tokens": "the rest of the input",
  "prompt_tokens_details.video_tokens": "within the input",
  prompt_cache_miss_tokens: "the rest of the input",
  "cost_details.upstream_inference_prompt_cost": "within the upstream's cost",
  "cost_details.upstream_inference_completions_cost": "within the upstream's cost",
  "cost_details.server_tool_cost": "within the cost",
  "server_tool_use_details.web_search_requests": "within the cost",
  "server_tool_use_details.tool_calls_requested": "within the cost",
  "server_tool_use_details.tool_calls_executed": "within the cost",
  completion_time: "not billed",
  prompt_time: "not billed",
  queue_time: "not billed",
  total_time: "not billed",
  doc_size_bytes: "not billed",
  classifications: "no price is published",
  "fallback_credit.status": "a credit on the bill",
};

const modality = [{ modality: "AUDIO", tokenCount: 7 }];
/** Values of fields that aren't counts; any other field is 7. */
const samples: Fields = {
  service_tier: "priority",
  serviceTier: "priority",
  trafficType: "ON_DEMAND_PRIORITY",
  speed: "fast",
  inference_geo: "us",
  total_tokens: 2000,
  totalTokenCount: 2000,
  totalTokens: 2000,
  cost_in_usd_ticks: 7_000_000_000,
  is_byok: true,
  type: "priority",
  cacheDetails: [{ ttl: "1h", inputTokens: 7 }],
  promptTokensDetails: modality,
  toolUsePromptTokensDetails: modality,
  candidatesTokensDetails: modality,
  cacheTokensDetails: modality,
  iterations: [{ type: "compaction", input_tokens: 7, output_tokens: 7 }],
};

interface ReadField {
  readonly provider: string;
  readonly source: string;
  readonly field: string;
  /** Fields of the usage record that it changes. */
  readonly meteredAs: readonly string[];
}

export function readFields(): ReadField[] {
  return usageTypes.flatMap(({ provider, source, fields, base, answer = ofUsage }) =>
    fields.map((field) => {
      const path = field.split(".");
      const without = figuresOf(answer(changed(base, path, undefined)));
      const sample = samples[path.at(-1)!] ?? 7;
      const found = figuresOf(answer(changed(base, path, sample)));
      const meteredAs = Object.keys(found).filter((name) => found[name] !== without[name]);
      return { provider, source, field, meteredAs };
    }),
  );
}

function ofUsage(usage: Fields): Fields {
  return { usage };
}

/** With another value at a path; undefined removes it. */
function changed(fields: Fields, [name = "", ...rest]: readonly string[], value: unknown): Fields {
  const inner = (fields[name] ?? {}) as Fields;
  return { ...fields, [name]: rest.length === 0 ? value : changed(inner, rest, value) };
}

/** The fields of the usage record. */
function figuresOf(answer: Fields): Fields {
  const reading = readUsage(findUsage(answer));
  const usage = reading.kind === "usage" ? reading : noUsage;
  const { details } = usage;
  const figures: Record<string, unknown> = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_input_tokens: usage.cacheWriteInputTokens,
    service_tier: details?.serviceTier ?? null,
    region: details?.region ?? null,
    total_cost: usage.reportedCost,
  };
  for (const name of detailNames) figures[detailFields[name]] = details?.counts[name] ?? 0;
  return figures;
}

const head = `# Usage by provider

What becomes of each field of usage in the types that providers publish: the fields of the [usage record](../../docs/reference/usage-record.md) that it changes. \`npm run heavy -- usage-fields --write\` writes this file: it puts every field alone into a report and reads it. Fields of OpenAI and Anthropic are read from their SDKs' types.
`;

/** test/outside/usage-fields.md. */
export function usageFieldsPage(): string {
  const sections = new Map<string, string[]>();
  for (const { provider, source, field, meteredAs } of readFields()) {
    const title = `## ${provider}: \`${source}\``;
    const metered = meteredAs.map((name) => `\`${name}\``).join(", ");
    const row = `| \`${field}\` | ${metered === "" ? `not read: ${unread[field] ?? "unknown"}` : metered} |`;
    sections.set(title, [...(sections.get(title) ?? []), row]);
  }
  const tables = [...sections].map(([title, rows]) =>
    [title, "", "| field | metered as |", "|---|---|", ...rows, ""].join("\n"),
  );
  return [head, ...tables].join("\n");
}
