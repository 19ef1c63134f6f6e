/**
 * The presets whose address is the operator's own: in a region, of a project, on a host. The others
 * are in `presets.ts`.
 */
import { providerTraits } from "../provider-type.js";
import { type Preset, preset } from "./preset.js";

export const ownPresets: readonly Preset[] = [
  // Its OpenAI-compatible endpoints: each region has addresses of its own.
  preset({
    name: "bedrock",
    type: "openai",
    keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
    variables: "BEDROCK",
    operations: ["chat_completions", "responses"],
  }),
  // Its OpenAI-compatible endpoint, in the address of a project; models are named google/….
  preset({
    name: "vertex",
    type: "openai",
    keyVariable: "VERTEX_API_KEY",
    operations: ["chat_completions"],
    listsModels: false,
    chat: providerTraits.gemini.chat,
  }),
  preset({
    name: "sglang",
    type: "openai",
    keyVariable: "SGLANG_API_KEY",
    baseUrl: "http://127.0.0.1:30000/v1",
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  }),
  // By default it listens where Sluice does.
  preset({
    name: "llamacpp",
    type: "openai",
    keyVariable: "LLAMACPP_API_KEY",
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  }),
  preset({
    name: "lmstudio",
    type: "openai",
    keyVariable: "LMSTUDIO_API_KEY",
    baseUrl: "http://127.0.0.1:1234/v1",
    keyless: true,
    operations: ["chat_completions", "completions", "embeddings"],
  }),
];
