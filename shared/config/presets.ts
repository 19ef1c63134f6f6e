/**
 * The OpenAI-compatible providers that are known by name: where they are, and the variables that
 * register them (CONTRACT section 9). How these join the file's providers is in `provider-configs.ts`.
 */

export interface Preset {
  /** The instance name that its key registers. */
  readonly name: string;
  readonly keyVariable: string;
  readonly baseUrl: string;
}

export const presets: readonly Preset[] = [
  { name: "openai", keyVariable: "OPENAI_API_KEY", baseUrl: "https://api.openai.com/v1" },
  { name: "anthropic", keyVariable: "ANTHROPIC_API_KEY", baseUrl: "https://api.anthropic.com/v1" },
  { name: "gemini", keyVariable: "GEMINI_API_KEY", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
  { name: "groq", keyVariable: "GROQ_API_KEY", baseUrl: "https://api.groq.com/openai/v1" },
  { name: "openrouter", keyVariable: "OPENROUTER_API_KEY", baseUrl: "https://openrouter.ai/api/v1" },
  { name: "xai", keyVariable: "XAI_API_KEY", baseUrl: "https://api.x.ai/v1" },
  { name: "deepseek", keyVariable: "DEEPSEEK_API_KEY", baseUrl: "https://api.deepseek.com/v1" },
  { name: "mistral", keyVariable: "MISTRAL_API_KEY", baseUrl: "https://api.mistral.ai/v1" },
  { name: "together", keyVariable: "TOGETHER_API_KEY", baseUrl: "https://api.together.xyz/v1" },
  { name: "fireworks", keyVariable: "FIREWORKS_API_KEY", baseUrl: "https://api.fireworks.ai/inference/v1" },
  { name: "cerebras", keyVariable: "CEREBRAS_API_KEY", baseUrl: "https://api.cerebras.ai/v1" },
  { name: "perplexity", keyVariable: "PERPLEXITY_API_KEY", baseUrl: "https://api.perplexity.ai" },
];

/** `OPENAI_BASE_URL` beside `OPENAI_API_KEY`. */
export function baseUrlVariable(preset: Preset): string {
  return preset.keyVariable.replace(/_API_KEY$/, "_BASE_URL");
}

/** `OPENAI_MODELS` beside `OPENAI_API_KEY`. */
export function modelsVariable(preset: Preset): string {
  return preset.keyVariable.replace(/_API_KEY$/, "_MODELS");
}

export function findPreset(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name);
}
