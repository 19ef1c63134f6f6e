/**
 * What the models of a family accept, by the names that their makers gave them. Models with other
 * names get the traits of most models. Hosts differ too: see `shared/config/host-traits.ts`.
 *
 * Sources: OpenAI's model pages and its guide to reasoning models, Anthropic's model overview and
 * its pages on extended and adaptive thinking, effort and structured outputs, Google's model pages
 * and "Gemini thinking" (levels from Gemini 3 on, budgets and their ranges before it, none before
 * 2.5), as of November 2026; on forced calls UKGovernmentBEIS/inspect_ai#5152 (Kimi) and
 * cloudwego/eino#994 (DeepSeek); on the efforts of GPT-5.6 and GPT-6 mnfst/modelparams.dev#236,
 * BerriAI/litellm-docs#1173 and bolna-ai/bolna#1019.
 */
import {
  type Effort,
  efforts,
  type Sampling,
  type Thinking,
} from "../../../shared/config/model-traits.js";

export interface ChatModelTraits {
  /** Null if it is unknown, or larger than any request asks for. */
  readonly outputTokensMax: number | null;
  /** The values of `reasoning_effort`; empty for a model without it. */
  readonly efforts: readonly Effort[];
  /** Whether the Responses API also takes the effort `max`. */
  readonly takesMaxInResponses: boolean;
  /**
   * What the model does only through OpenAI's Responses API: everything, or reasoning with tools.
   * Some models reason with tools by default.
   */
  readonly onlyInResponses:
    | "nothing"
    | "asked_reasoning_with_tools"
    | "reasoning_with_tools"
    | "all";
  readonly sampling: Sampling;
  /** Whether a request may force a call. Models that always think often refuse that. */
  readonly takesForcedCalls: boolean;
  /**
   * Whether the model accepts `stop`, and, while it reasons, a bias or log probabilities of tokens.
   */
  readonly takesTokenControl: boolean;
  /** Whether the model reasons if the request has no effort. */
  readonly reasonsByDefault: boolean;
  readonly takesVerbosity: boolean;
}

const common: ChatModelTraits = {
  outputTokensMax: null,
  efforts: ["low", "medium", "high"],
  takesMaxInResponses: false,
  onlyInResponses: "nothing",
  sampling: "all",
  takesForcedCalls: true,
  takesTokenControl: true,
  reasonsByDefault: true,
  takesVerbosity: true,
};

function plainTraits(outputTokensMax: number | null): ChatModelTraits {
  return { ...common, outputTokensMax, efforts: [], reasonsByDefault: false };
}

/** OpenAI's models before GPT-5. */
function beforeGpt5(traits: ChatModelTraits): ChatModelTraits {
  return { ...traits, takesVerbosity: false };
}

function reasoningTraits(efforts: readonly Effort[], sampling: Sampling = "none"): ChatModelTraits {
  return { ...common, outputTokensMax: 128_000, efforts, sampling, takesTokenControl: false };
}

function responsesOnlyTraits(efforts: readonly Effort[]): ChatModelTraits {
  return { ...reasoningTraits(efforts), onlyInResponses: "all" };
}

const gpt51: ChatModelTraits = {
  ...reasoningTraits(["none", "low", "medium", "high"], "without_reasoning"),
  reasonsByDefault: false,
};
const gpt52: ChatModelTraits = { ...gpt51, efforts: [...gpt51.efforts, "xhigh"] };

const gpt55: ChatModelTraits = {
  ...gpt52,
  reasonsByDefault: true,
  onlyInResponses: "reasoning_with_tools",
};

const deepseek: ChatModelTraits = { ...common, efforts: ["low", "medium", "high", "max"] };

/** Gemini's Flash models from 3.7 on refuse the level `minimal` (can1357/oh-my-pi#10543). */
const refusesMinimal = /^gemini-(?:flash-latest|(?:3\.[7-9]|[4-9](?:\.\d)?)-flash(?!-lite))/;

/** The first entry that matches applies. */
const chatFamilies: readonly (readonly [RegExp, ChatModelTraits])[] = [
  [/^gpt-3\.5/, beforeGpt5(plainTraits(4096))],
  [/^gpt-4-turbo/, beforeGpt5(plainTraits(4096))],
  [/^gpt-4\.1/, beforeGpt5(plainTraits(32_768))],
  [/^(?:gpt-4o|chatgpt-4o|gpt-4\.5)/, beforeGpt5(plainTraits(16_384))],
  [/^gpt-4(?:-|$)/, beforeGpt5(plainTraits(8192))],
  [/^gpt-5(?:\.\d)?-chat/, plainTraits(16_384)],
  [/^gpt-5-pro/, responsesOnlyTraits(["high"])],
  [/^gpt-5\.\d-pro/, responsesOnlyTraits(["medium", "high", "xhigh"])],
  [/^(?:gpt-5(?:\.1)?-codex(?!-max)|codex-)/, responsesOnlyTraits(["low", "medium", "high"])],
  [/^gpt-5\.\d-codex/, responsesOnlyTraits(["low", "medium", "high", "xhigh"])],
  [/^gpt-5(?:-|$)/, reasoningTraits(["minimal", "low", "medium", "high"])],
  [/^gpt-5\.1/, gpt51],
  [/^gpt-5\.[23]/, gpt52],
  [/^gpt-5\.4/, { ...gpt52, onlyInResponses: "asked_reasoning_with_tools" }],
  [/^gpt-5\.5/, gpt55],
  // It always reasons.
  [
    /^gpt-6(?:\.\d)?-astra/,
    {
      ...reasoningTraits(["low", "medium", "high", "xhigh"]),
      takesMaxInResponses: true,
      onlyInResponses: "reasoning_with_tools",
    },
  ],
  [/^gpt-(?:5\.\d|[6-9])/, { ...gpt55, takesMaxInResponses: true }],
  [/^o1-(?:mini|preview)/, beforeGpt5({ ...reasoningTraits([]), outputTokensMax: 32_768 })],
  [/^o\d-(?:pro|.*deep-research)/, beforeGpt5(responsesOnlyTraits(["low", "medium", "high"]))],
  [/^o\d/, beforeGpt5({ ...reasoningTraits(["low", "medium", "high"]), outputTokensMax: 100_000 })],
  [/^gpt-oss/, common],
  [refusesMinimal, common],
  [/^gemini/, { ...common, efforts: ["minimal", "low", "medium", "high"] }],
  [/^deepseek-(?:reasoner|v[4-9])/, { ...deepseek, takesForcedCalls: false }],
  [/^deepseek/, deepseek],
  [/^grok-3-mini/, { ...common, efforts: ["low", "high"] }],
  // A 400 for any temperature but 1: https://github.com/BerriAI/litellm/pull/29687
  [/^kimi-k2\.\d/, { ...plainTraits(null), sampling: "none", takesForcedCalls: false }],
  [/^kimi-k2-thinking/, { ...plainTraits(null), takesForcedCalls: false }],
  [/^(?:grok|qwen|qwq|kimi|moonshot|glm|llama|gemma|phi)/, plainTraits(null)],
  [/^(?:mistral|ministral|magistral|codestral|devstral|pixtral|open-mi)/, plainTraits(null)],
];

/**
 * The traits of a model. `model`: the name at the provider, with or without the maker's name before
 * it.
 */
export function chatModelTraits(model: string): ChatModelTraits {
  const name = familyName(model);
  return chatFamilies.find(([pattern]) => pattern.test(name))?.[1] ?? common;
}

/** Other makers' models that reason unless a request turns it off, as their pages say. */
const reasoners =
  /^(?:gpt-oss|claude-\w+-[5-9]|gemini-(?:2\.5-(?!flash-lite)|[3-9])|deepseek-(?:reasoner|r1)|grok-(?:3-mini|4)|qwq|magistral|kimi-k2-thinking)|-(?:thinking|reasoning)\b/;
const notReasoning = /non-reasoning|-(?:image|tts|live|audio|embedding)\b/;

/** Whether a model is known to reason if the request doesn't mention reasoning. */
export function reasonsByDefault(model: string): boolean {
  const name = familyName(model);
  if (notReasoning.test(name)) return false;
  const traits = chatModelTraits(name);
  return reasoners.test(name) || (traits.reasonsByDefault && !traits.takesTokenControl);
}

/** Models that stream all of their reasoning as they reason, as their makers' pages say. */
const withShownReasoning = /^(?:deepseek|qwq|qwen|kimi|glm|minimax|magistral|gpt-oss|grok-3-mini)/;

/** Whether a stream of a model is known to show all of its reasoning. */
export function showsReasoning(model: string): boolean {
  return withShownReasoning.test(familyName(model));
}

/** Whether only OpenAI and Azure run the model, whatever maker's name precedes it. */
export function isOpenaiModel(model: string): boolean {
  return /^(?:gpt-(?!oss)|chatgpt-|codex-|o\d)/.test(familyName(model));
}

/** The makers whose names Amazon Bedrock writes before a point, after that of a region. */
const makers = /^(?:[a-z-]{1,8}\.)?(?:openai|moonshot(?:ai)?|qwen|google|mistral|zai|meta|xai)\./;

/** The name without its maker, such as in `openai/gpt-5`, `Qwen/Qwen3-8B` and `us.openai.gpt-6`. */
function familyName(model: string): string {
  return model
    .slice(model.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(makers, "");
}

export interface MessagesModelTraits {
  /** Null if unknown. */
  readonly outputTokensMax: number | null;
  readonly thinking: Thinking;
  /**
   * How a request turns thinking off: by a value of `thinking.type`, or without the field; `never`:
   * the model always thinks.
   */
  readonly thinkingOff: "disabled" | "between_tools" | "left_out" | "never";
  /** Whether a request may force a call. */
  readonly takesForcedCalls: boolean;
  /** The values of `output_config.effort`. */
  readonly efforts: readonly Effort[];
  readonly sampling: Sampling;
  readonly takesOutputSchema: boolean;
  /** Whether the model continues an answer that the request begins. */
  readonly takesPrefill: boolean;
  /** Whether `messages` may have the role `system`. */
  readonly takesSystemTurns: boolean;
}

/** Null for a model that isn't Anthropic's: some servers speak its dialect with other models. */
export function messagesModelTraits(model: string): MessagesModelTraits | null {
  const name = familyName(model);
  if (!name.includes("claude")) return null;
  const family = /opus|sonnet|haiku|fable|mythos/.exec(name)?.[0] ?? "";
  const [, major = "9", minor = "0"] =
    /(?:claude|opus|sonnet|haiku|fable|mythos)-(\d)(?:[-.](\d)(?!\d))?/.exec(name) ?? [];
  const version = Number(major) + Number(minor) / 10;
  const isFrom = (from: number): boolean => version >= from - 0.001;
  return {
    outputTokensMax: outputTokensMax(family, isFrom),
    thinking: isFrom(4.7) ? "adaptive" : isFrom(4.6) ? "both" : isFrom(3.7) ? "budget" : "none",
    thinkingOff: thinkingOff(family, isFrom),
    // platform.claude.com: "What's new in Claude Opus 5.5" and Sonnet 5.5.
    takesForcedCalls: !alwaysThinks(family, isFrom) && !(family === "sonnet" && isFrom(5.5)),
    efforts: isFrom(4.7)
      ? ["low", "medium", "high", "xhigh", "max"]
      : isFrom(4.6)
        ? ["low", "medium", "high", "max"]
        : family === "opus" && isFrom(4.5)
          ? ["low", "medium", "high"]
          : [],
    sampling: isFrom(4.7) ? "none" : isFrom(4.1) ? "one_of" : "all",
    takesOutputSchema: isFrom(4.5) || (family === "opus" && isFrom(4.1)),
    takesPrefill: !isFrom(4.6),
    takesSystemTurns: isFrom(4.8),
  };
}

/** Sources: platform.claude.com, "Troubleshooting thinking" and the migration guides of 5.5. */
function thinkingOff(
  family: string,
  isFrom: (version: number) => boolean,
): MessagesModelTraits["thinkingOff"] {
  if (!isFrom(5) || family === "") return isFrom(3.7) && !isFrom(4.6) ? "disabled" : "left_out";
  if (alwaysThinks(family, isFrom)) return "never";
  return family === "sonnet" && isFrom(5.5) ? "between_tools" : "disabled";
}

function alwaysThinks(family: string, isFrom: (version: number) => boolean): boolean {
  return family === "opus" ? isFrom(5.5) : /fable|mythos/.test(family) && isFrom(5);
}

function outputTokensMax(family: string, isFrom: (version: number) => boolean): number {
  if (isFrom(4.6)) return 128_000;
  if (family === "opus" && isFrom(4) && !isFrom(4.5)) return 32_000;
  if (isFrom(3.7)) return 64_000;
  return isFrom(3.5) ? 8192 : 4096;
}

export interface GoogleModelTraits {
  readonly outputTokensMax: number;
  readonly thinking: "none" | "budget" | "level";
  /** The smallest and the largest budget; a smallest one of 0 turns thinking off. */
  readonly budgets: readonly [number, number];
  /** Whether it takes the level `minimal`. */
  readonly takesMinimal: boolean;
}

/** What the model accepts in Gemini's own API; null for a model that isn't Gemini. */
export function googleModelTraits(model: string): GoogleModelTraits | null {
  const [, version] = /gemini-(\d+(?:\.\d+)?)/.exec(model.toLowerCase()) ?? [];
  if (version === undefined) return null;
  const isPro = model.toLowerCase().includes("pro");
  const takesMinimal = !isPro && !refusesMinimal.test(familyName(model));
  if (Number(version) < 2.5)
    return { outputTokensMax: 8192, thinking: "none", budgets: [0, 0], takesMinimal };
  return {
    outputTokensMax: 65_536,
    thinking: Number(version) < 3 ? "budget" : "level",
    budgets: isPro ? [128, 32_768] : [0, 24_576],
    takesMinimal,
  };
}

/**
 * The effort that a model takes for the wanted one: the same or the next lower one, or the lowest
 * one. Null if there is none.
 */
export function nearestEffort(effort: Effort, supported: readonly Effort[]): Effort | null {
  // `none` isn't the same as a low effort.
  if (effort === "none")
    return supported.find((effort) => effort === "none" || effort === "minimal") ?? null;
  const reasoning = supported.filter((effort) => effort !== "none");
  const rank = efforts.indexOf(effort);
  return reasoning.findLast((effort) => efforts.indexOf(effort) <= rank) ?? reasoning[0] ?? null;
}

export function isEffort(value: unknown): value is Effort {
  return (efforts as readonly unknown[]).includes(value);
}
