/**
 * What the models of a family take, by the names that their makers gave them. A name that isn't
 * here gets what most models take. Hosts differ too: `shared/config/host-traits.ts`.
 *
 * Sources: OpenAI's model pages and its guide to reasoning models, Anthropic's model overview
 * and its pages on extended and adaptive thinking, effort and structured outputs, as of November
 * 2026; on forced calls UKGovernmentBEIS/inspect_ai#5152 (Kimi) and cloudwego/eino#994 (DeepSeek).
 */
import {
  type Effort,
  efforts,
  type Sampling,
  type Thinking,
} from "../../../shared/config/model-traits.js";

export interface ChatModelTraits {
  /** Null: unknown, or as large as anybody asks for. */
  readonly outputTokensMax: number | null;
  /** The values of `reasoning_effort`; none for a model without it. */
  readonly efforts: readonly Effort[];
  /**
   * What it does in OpenAI's Responses API alone: everything, or reasoning with tools, which some
   * models do unless they are told not to.
   */
  readonly onlyInResponses:
    | "nothing"
    | "asked_reasoning_with_tools"
    | "reasoning_with_tools"
    | "all";
  readonly sampling: Sampling;
  /** Whether a request may force a call; models that always think often refuse that. */
  readonly takesForcedCalls: boolean;
  /** Whether it takes `stop`, and, while it reasons, a bias or log probabilities of tokens. */
  readonly takesTokenControl: boolean;
}

const common: ChatModelTraits = {
  outputTokensMax: null,
  efforts: ["low", "medium", "high"],
  onlyInResponses: "nothing",
  sampling: "all",
  takesForcedCalls: true,
  takesTokenControl: true,
};

function plain(outputTokensMax: number | null): ChatModelTraits {
  return { ...common, outputTokensMax, efforts: [] };
}

function reasoning(efforts: readonly Effort[], sampling: Sampling = "none"): ChatModelTraits {
  return { ...common, outputTokensMax: 128_000, efforts, sampling, takesTokenControl: false };
}

function inResponses(efforts: readonly Effort[]): ChatModelTraits {
  return { ...reasoning(efforts), onlyInResponses: "all" };
}

const newReasoning = reasoning(["none", "low", "medium", "high", "xhigh"], "without_reasoning");

const deepseek: ChatModelTraits = { ...common, efforts: ["low", "medium", "high", "max"] };

/** The first that matches applies. */
const chatFamilies: readonly (readonly [RegExp, ChatModelTraits])[] = [
  [/^gpt-3\.5/, plain(4096)],
  [/^gpt-4-turbo/, plain(4096)],
  [/^gpt-4\.1/, plain(32_768)],
  [/^(?:gpt-4o|chatgpt-4o|gpt-4\.5)/, plain(16_384)],
  [/^gpt-4(?:-|$)/, plain(8192)],
  [/^gpt-5(?:\.\d)?-chat/, plain(16_384)],
  [/^gpt-5-pro/, inResponses(["high"])],
  [/^gpt-5\.\d-pro/, inResponses(["medium", "high", "xhigh"])],
  [/^(?:gpt-5(?:\.1)?-codex(?!-max)|codex-)/, inResponses(["low", "medium", "high"])],
  [/^gpt-5\.\d-codex/, inResponses(["low", "medium", "high", "xhigh"])],
  [/^gpt-5(?:-|$)/, reasoning(["minimal", "low", "medium", "high"])],
  [/^gpt-5\.1/, reasoning(["none", "low", "medium", "high"], "without_reasoning")],
  [/^gpt-5\.[23]/, newReasoning],
  [/^gpt-5\.4/, { ...newReasoning, onlyInResponses: "asked_reasoning_with_tools" }],
  [/^gpt-(?:5\.\d|[6-9])/, { ...newReasoning, onlyInResponses: "reasoning_with_tools" }],
  [/^o1-(?:mini|preview)/, { ...reasoning([]), outputTokensMax: 32_768 }],
  [/^o\d-(?:pro|.*deep-research)/, inResponses(["low", "medium", "high"])],
  [/^o\d/, { ...reasoning(["low", "medium", "high"]), outputTokensMax: 100_000 }],
  [/^gpt-oss/, common],
  [/^gemini/, { ...common, efforts: ["minimal", "low", "medium", "high"] }],
  [/^deepseek-(?:reasoner|v[4-9])/, { ...deepseek, takesForcedCalls: false }],
  [/^deepseek/, deepseek],
  [/^grok-3-mini/, { ...common, efforts: ["low", "high"] }],
  // A 400 for any temperature but 1: https://github.com/BerriAI/litellm/pull/29687
  [/^kimi-k2\.\d/, { ...plain(null), sampling: "none", takesForcedCalls: false }],
  [/^kimi-k2-thinking/, { ...plain(null), takesForcedCalls: false }],
  [/^(?:grok|qwen|qwq|kimi|moonshot|glm|llama|gemma|phi)/, plain(null)],
  [/^(?:mistral|ministral|magistral|codestral|devstral|pixtral|open-mi)/, plain(null)],
];

/** `model` as the provider knows it, with or without the name of its maker before it. */
export function chatModelTraits(model: string): ChatModelTraits {
  const name = familyName(model);
  return chatFamilies.find(([pattern]) => pattern.test(name))?.[1] ?? common;
}

/** Whether a model is one that only OpenAI and Azure run, whoever stands before them. */
export function isOpenaiModel(model: string): boolean {
  return /^(?:gpt-(?!oss)|chatgpt-|codex-|o\d)/.test(familyName(model));
}

/** `openai/gpt-5` and `Qwen/Qwen3-8B` begin with their maker's name. */
function familyName(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1).toLowerCase();
}

export interface MessagesModelTraits {
  /** Null: unknown. */
  readonly outputTokensMax: number | null;
  readonly thinking: Thinking;
  /** The values of `output_config.effort`. */
  readonly efforts: readonly Effort[];
  readonly sampling: Sampling;
  readonly takesOutputSchema: boolean;
  /** Whether it continues an answer whose beginning the request has. */
  readonly takesPrefill: boolean;
}

/** Null for a model that isn't Anthropic's: some servers speak its dialect with others. */
export function messagesModelTraits(model: string): MessagesModelTraits | null {
  const name = familyName(model);
  if (!name.includes("claude")) return null;
  const family = /opus|sonnet|haiku/.exec(name)?.[0] ?? "";
  const [, major = "9", minor = "0"] =
    /(?:claude|opus|sonnet|haiku)-(\d)(?:[-.](\d)(?!\d))?/.exec(name) ?? [];
  const version = Number(major) + Number(minor) / 10;
  const at = (from: number): boolean => version >= from - 0.001;
  return {
    outputTokensMax: outputTokensMax(family, at),
    thinking: at(4.7) ? "adaptive" : at(4.6) ? "both" : at(3.7) ? "budget" : "none",
    efforts: at(4.7)
      ? ["low", "medium", "high", "xhigh", "max"]
      : at(4.6)
        ? ["low", "medium", "high", "max"]
        : family === "opus" && at(4.5)
          ? ["low", "medium", "high"]
          : [],
    sampling: at(4.7) ? "none" : at(4.1) ? "one_of" : "all",
    takesOutputSchema: at(4.5) || (family === "opus" && at(4.1)),
    takesPrefill: !at(4.6),
  };
}

function outputTokensMax(family: string, at: (version: number) => boolean): number {
  if (at(4.6)) return 128_000;
  if (family === "opus" && at(4) && !at(4.5)) return 32_000;
  if (at(3.7)) return 64_000;
  return at(3.5) ? 8192 : 4096;
}

/**
 * The value that a model takes for one that was asked for: the next lower one, else the lowest.
 */
export function nearestEffort(wanted: Effort, taken: readonly Effort[]): Effort | null {
  // Without thought is not the same as with little.
  if (wanted === "none")
    return taken.find((effort) => effort === "none" || effort === "minimal") ?? null;
  const reasoning = taken.filter((effort) => effort !== "none");
  const rank = efforts.indexOf(wanted);
  return reasoning.findLast((effort) => efforts.indexOf(effort) <= rank) ?? reasoning[0] ?? null;
}

export function isEffort(value: unknown): value is Effort {
  return (efforts as readonly unknown[]).includes(value);
}
