/**
 * The types of channels of one-api and of its fork new-api, which numbers them in another way: the
 * provider of Sluice, or the address, that each stands for. Pure.
 */
import { findPreset, type Preset } from "../../shared/config/presets.js";
import { azureAddress } from "./imported-values.js";

/** The programs whose tables are imported. */
export const oneApiPrograms = ["one-api", "new-api"] as const;
export type OneApiProgram = (typeof oneApiPrograms)[number];

/**
 * A preset of Sluice, or null; the address of a channel that sets none; the path after the address.
 */
type Row = readonly [preset: string | null, origin: string, path: string];

const both: Readonly<Record<number, Row>> = {
  1: ["openai", "https://api.openai.com", "/v1"],
  3: ["azure", "", ""],
  6: [null, "https://api.openaimax.com", "/v1"],
  7: [null, "https://api.ohmygpt.com", "/v1"],
  10: [null, "https://api.aiproxy.io", "/v1"],
  12: [null, "https://api.api2gpt.com", "/v1"],
  13: [null, "https://api.aigc2d.com", "/v1"],
  14: ["anthropic", "https://api.anthropic.com", "/v1"],
  17: [null, "https://dashscope.aliyuncs.com", "/compatible-mode/v1"],
  20: ["openrouter", "https://openrouter.ai/api", "/v1"],
  22: [null, "https://fastgpt.run/api/openapi", "/v1"],
  24: ["gemini", "https://generativelanguage.googleapis.com", "/v1beta/openai"],
  25: ["moonshot", "https://api.moonshot.cn", "/v1"],
  31: [null, "https://api.lingyiwanwu.com", "/v1"],
};

const rows: Readonly<Record<OneApiProgram, Readonly<Record<number, Row>>>> = {
  "one-api": {
    ...both,
    2: [null, "https://oa.api2d.net", "/v1"],
    4: [null, "https://api.closeai-proxy.xyz", "/v1"],
    5: [null, "https://api.openai-sb.com", "/v1"],
    8: [null, "", "/v1"],
    9: [null, "https://api.caipacity.com", "/v1"],
    16: [null, "https://open.bigmodel.cn", "/api/paas/v4"],
    19: [null, "https://ai.360.cn", "/v1"],
    26: [null, "https://api.baichuan-ai.com", "/v1"],
    27: [null, "https://api.minimax.chat", "/v1"],
    28: ["mistral", "https://api.mistral.ai", "/v1"],
    29: ["groq", "https://api.groq.com/openai", "/v1"],
    30: ["ollama", "http://localhost:11434", "/v1"],
    32: [null, "https://api.stepfun.com", "/v1"],
    35: ["cohere", "https://api.cohere.ai", "/compatibility/v1"],
    36: ["deepseek", "https://api.deepseek.com", "/v1"],
    39: ["together", "https://api.together.xyz", "/v1"],
    40: [null, "https://ark.cn-beijing.volces.com", "/api/v3"],
    41: [null, "https://api.novita.ai/v3/openai", ""],
    44: [null, "https://api.siliconflow.cn", "/v1"],
    45: ["xai", "https://api.x.ai", "/v1"],
    47: [null, "https://qianfan.baidubce.com", "/v2"],
    48: [null, "https://spark-api-open.xf-yun.com", "/v1"],
    49: [null, "https://dashscope.aliyuncs.com", "/compatible-mode/v1"],
    50: [null, "", ""],
    51: ["gemini", "https://generativelanguage.googleapis.com/v1beta/openai", ""],
  },
  "new-api": {
    ...both,
    4: ["ollama", "http://localhost:11434", "/v1"],
    8: [null, "", ""],
    19: [null, "https://api.360.cn", "/v1"],
    26: [null, "https://open.bigmodel.cn", "/api/paas/v4"],
    27: ["perplexity", "https://api.perplexity.ai", ""],
    34: ["cohere", "https://api.cohere.ai", "/compatibility/v1"],
    35: [null, "https://api.minimax.chat", "/v1"],
    38: [null, "https://api.jina.ai", "/v1"],
    40: [null, "https://api.siliconflow.cn", "/v1"],
    42: ["mistral", "https://api.mistral.ai", "/v1"],
    43: ["deepseek", "https://api.deepseek.com", "/v1"],
    45: [null, "https://ark.cn-beijing.volces.com", "/api/v3"],
    46: [null, "https://qianfan.baidubce.com", "/v2"],
    47: [null, "", "/v1"],
    48: ["xai", "https://api.x.ai", "/v1"],
    53: [null, "https://llm.submodel.ai", "/v1"],
  },
};

interface ChannelKind {
  readonly preset: Preset | null;
  /** The address up to the endpoint; null if the channel must have one and hasn't. */
  readonly address: string | null;
}

/** Null for a type without a counterpart. */
export function channelKind(
  program: OneApiProgram,
  { type, base, version }: { type: number; base: string | null; version: string | null },
): ChannelKind | null {
  const row = rows[program][type];
  if (row === undefined) return null;
  const [name, provider, path] = row;
  const preset = name === null ? null : findPreset(name)!;
  const origin = (base ?? provider).replace(/\/+$/, "");
  if (origin === "") return { preset, address: null };
  if (name === "azure") return { preset, address: azureAddress(origin, version) };
  // A custom channel of new-api has the address of the endpoint.
  if (program === "new-api" && type === 8)
    return { preset, address: origin.replace(/\/chat\/completions$/, "") };
  return { preset, address: origin.endsWith(path) ? origin : origin + path };
}
