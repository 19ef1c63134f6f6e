/**
 * The words for what a model takes, which the tables of families
 * (`proxy/dialects/fit/model-families.ts`) and the operator's entries share.
 */

/** How much a model is to reason, in ascending order. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

/**
 * Temperature, `top_p` and penalties. `one_of`: a temperature or `top_p`, but not both;
 * `without_reasoning`: all of them while it doesn't reason.
 */
export const samplings = ["all", "one_of", "without_reasoning", "none"] as const;
export type Sampling = (typeof samplings)[number];

/** How a Claude thinks. `budget`: only with a number of tokens; `adaptive`: only without. */
export const thinkings = ["none", "budget", "adaptive", "both"] as const;
export type Thinking = (typeof thinkings)[number];

/** In which of OpenAI's APIs a model takes tools and an effort together. */
export const reasoningApis = ["chat", "responses", "none"] as const;
type ReasoningApi = (typeof reasoningApis)[number];

/** What the operator says of some models of a provider; null: what the tables say. */
export interface OwnModelTraits {
  /** Names at the provider, in lower case; `*` stands for any characters. */
  readonly models: readonly string[];
  /** The model whose family's traits apply otherwise. */
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
