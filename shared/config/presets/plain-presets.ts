/**
 * The presets of hosts that differ from their type in their address and in what they offer, and in
 * nothing else that is known. The others are in `presets.ts`.
 */
import { type Preset, preset } from "./preset.js";

export const plainPresets: readonly Preset[] = [
  preset({
    name: "nvidia",
    type: "openai",
    keyVariable: "NVIDIA_API_KEY",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    operations: ["chat_completions", "embeddings"],
  }),
  preset({
    name: "sambanova",
    type: "openai",
    keyVariable: "SAMBANOVA_API_KEY",
    baseUrl: "https://api.sambanova.ai/v1",
    operations: ["chat_completions", "embeddings", "transcriptions", "translations"],
  }),
  preset({
    name: "huggingface",
    type: "openai",
    keyVariable: "HUGGINGFACE_API_KEY",
    baseUrl: "https://router.huggingface.co/v1",
    operations: ["chat_completions"],
  }),
  // Its list of models is at another address.
  preset({
    name: "github-models",
    type: "openai",
    keyVariable: "GITHUB_MODELS_API_KEY",
    variables: "GITHUB_MODELS",
    baseUrl: "https://models.github.ai/inference",
    operations: ["chat_completions", "embeddings"],
    listsModels: false,
  }),
  preset({
    name: "scaleway",
    type: "openai",
    keyVariable: "SCALEWAY_API_KEY",
    baseUrl: "https://api.scaleway.ai/v1",
    operations: ["chat_completions", "embeddings"],
  }),
  preset({
    name: "nebius",
    type: "openai",
    keyVariable: "NEBIUS_API_KEY",
    baseUrl: "https://api.tokenfactory.nebius.com/v1",
    operations: ["chat_completions", "embeddings"],
  }),
  // An experiment of theirs (docs.hetzner.com, "Inference API"), without a promise of how long.
  preset({
    name: "hetzner",
    type: "openai",
    keyVariable: "HETZNER_API_KEY",
    baseUrl: "https://inference.hetzner.com/api/v1",
    operations: ["chat_completions", "completions"],
  }),
];
