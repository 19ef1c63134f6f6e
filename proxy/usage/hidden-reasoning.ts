/**
 * Estimates the reasoning that a lost answer didn't show: providers bill it as output, but stream a
 * summary of it or nothing (docs/reference/usage-record.md, "Estimates"). The estimate is the
 * output of a model in the time that the answer took, at most the thinking budget: that of the
 * request, or of its effort, or the default of a model that reasons unless told not to. Nothing is
 * added for a stream that shows all of the reasoning.
 *
 * Not here: the upper bound (`usage-bound.ts`).
 */
import { isCount, isObject } from "../../shared/checked.js";
import { detailsOf } from "../../shared/usage/usage-details.js";
import type { Usage } from "./usage.js";
import { type Fields, outputMax, type SentRequest } from "./usage-bound.js";

/**
 * The budgets that Google publishes for the efforts of OpenAI's API: ai.google.dev, "OpenAI
 * compatibility". The highest is the largest budget of a Gemini model.
 */
const budgetOfEffort: ReadonlyMap<unknown, number> = new Map([
  ["none", 0],
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 32_768],
  ["max", 32_768],
]);
const usualBudget = 8192;

/** A usual speed of models that reason. */
const tokensPerSecond = 100;

/** `elapsedMs`: since the request was sent. */
export function withHiddenReasoning(usage: Usage, sent: SentRequest, elapsedMs: number): Usage {
  // Within the first second hardly anything is generated.
  const generated = Math.floor(elapsedMs / 1000) * tokensPerSecond;
  if (generated <= usage.outputTokens) return usage;
  const budget = thinkingBudget(sent);
  if (budget === 0 || streamsReasoning(sent)) return usage;
  const outputTokensMax = Math.max(usage.outputTokens, outputMax(sent));
  const outputTokens = Math.min(generated, usage.outputTokens + budget, outputTokensMax);
  const hidden = outputTokens - usage.outputTokens;
  const { serviceTier = null, region = null, counts = {} } = usage.details ?? {};
  return {
    ...usage,
    outputTokens,
    totalTokens: usage.totalTokens + hidden,
    details: detailsOf(serviceTier, { ...counts, reasoningTokens: hidden }, region),
  };
}

/** The most that the model reasons for a request, in tokens; 0 if it doesn't reason. */
export function thinkingBudget({ fields, reasonsByDefault }: Reasoner): number {
  return requestedBudget(fields()) ?? (reasonsByDefault ? usualBudget : 0);
}

type Reasoner = Pick<SentRequest, "fields" | "reasonsByDefault">;

/** Whether the answer shows all reasoning, as the model produces it. */
function streamsReasoning({ fields, showsReasoning }: SentRequest): boolean {
  const { stream, include_reasoning: include, reasoning_format: format, reasoning } = fields();
  const isHidden =
    include === false ||
    format === "hidden" ||
    (isObject(reasoning) && reasoning["exclude"] === true);
  return showsReasoning && stream === true && !isHidden;
}

/** Null if the request leaves it to the model. */
function requestedBudget(fields: Fields): number | null {
  const config = objectIn(fields, "generationConfig", "generation_config");
  const google = objectIn(objectIn(fields, "extra_body"), "google");
  const places = [
    // Anthropic, DeepSeek and others.
    objectIn(fields, "thinking"),
    // The Responses API and OpenRouter.
    objectIn(fields, "reasoning"),
    objectIn(config, "thinkingConfig", "thinking_config"),
    objectIn(google, "thinkingConfig", "thinking_config"),
    objectIn(fields, "chat_template_kwargs"),
    fields,
  ];
  if (places.some(isTurnedOff)) return 0;
  for (const place of places) {
    const budget = budgetNames
      .filter((name) => place !== fields || name === "thinking_budget")
      .map((name) => place[name])
      .find((value) => isCount(value, 1));
    if (budget !== undefined) return budget as number;
  }
  const efforts = [...places, objectIn(fields, "output_config")].flatMap((place) =>
    effortNames.map((name) => place[name]),
  );
  for (const effort of efforts) {
    const name = typeof effort === "string" ? effort.toLowerCase() : effort;
    const budget = budgetOfEffort.get(name);
    if (budget !== undefined) return budget;
  }
  return places.some(isTurnedOn) ? usualBudget : null;
}

const budgetNames = ["budget_tokens", "max_tokens", "thinkingBudget", "thinking_budget"];
const effortNames = ["effort", "reasoning_effort", "thinkingLevel", "thinking_level"];
const switches = ["enabled", "enable_thinking", "thinking"];

function isTurnedOff(place: Fields): boolean {
  return (
    place["type"] === "disabled" ||
    switches.some((name) => place[name] === false) ||
    place["thinkingBudget"] === 0 ||
    place["thinking_budget"] === 0
  );
}

function isTurnedOn(place: Fields): boolean {
  const { type } = place;
  return type === "enabled" || type === "adaptive" || switches.some((name) => place[name] === true);
}

function objectIn(fields: Fields, ...names: readonly string[]): Fields {
  for (const name of names) {
    const value = fields[name];
    if (isObject(value)) return value;
  }
  return {};
}
