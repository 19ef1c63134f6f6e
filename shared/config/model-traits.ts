/**
 * The values of model traits, shared by the tables of model families
 * (`proxy/dialects/fit/model-families.ts`) and the operator's entries.
 */

/** How much a model reasons, in ascending order. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/**
 * Which of temperature, `top_p` and penalties a model accepts. `one_of`: a temperature or `top_p`,
 * but not both; `without_reasoning`: all of them while it doesn't reason.
 */
export const samplings = ["all", "one_of", "without_reasoning", "none"] as const;
export type Sampling = (typeof samplings)[number];

/** How a Claude model thinks. `budget`: only with a token budget; `adaptive`: only without one. */
export const thinkings = ["none", "budget", "adaptive", "both"] as const;
export type Thinking = (typeof thinkings)[number];

/** The OpenAI API in which a model accepts tools together with an effort. */
export const reasoningApis = ["chat", "responses", "none"] as const;
type ReasoningApi = (typeof reasoningApis)[number];

/** The operator's traits for some models of a provider; null to use the tables. */
export interface OwnModelTraits {
  /** Model names at the provider, in lower case; `*` matches any characters. */
  readonly models: readonly string[];
  /** A model whose family supplies the other traits. */
  readonly like: string | null;
  readonly outputTokensMax: number | null;
  readonly efforts: readonly Effort[] | null;
  readonly reasoningWithTools: ReasoningApi | null;
  readonly sampling: Sampling | null;
  readonly thinking: Thinking | null;
  readonly takesOutputSchema: boolean | null;
  readonly takesImages: boolean | null;
  readonly takesForcedCalls: boolean | null;
}
