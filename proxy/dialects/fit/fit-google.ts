/**
 * Fits a client's own request of Gemini's API to another model than the one that it was written
 * for. Gemini's models differ in how a request controls their thinking, and in their output limits.
 */
import { isObject } from "../../../shared/checked.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { type FitStep, type FitTarget, isMoved } from "./fit-tuning.js";
import { type GoogleModelTraits, googleModelTraits } from "./model-families.js";
import { namedLike } from "./target-traits.js";

/** The names by which a body may control thinking, in the two spellings that Google reads. */
const marks = ["thinkingConfig", "thinking_config", "maxOutputTokens", "max_output_tokens"];

/** Null if the client named the model, or if it isn't a Gemini model. */
export function googleModelStep(target: FitTarget, bytes: Buffer): FitStep | null {
  if (!isMoved(target) || !marks.some((name) => bytes.includes(`"${name}"`))) return null;
  const traits = googleModelTraits(namedLike(target.provider, target.model));
  if (traits === null) return null;
  return (body, check) => {
    const name = body["generationConfig"] === undefined ? "generation_config" : "generationConfig";
    const config = body[name];
    return isObject(config) ? { ...body, [name]: fitConfig(config, traits, check) } : body;
  };
}

/** A budget for each level, between its smallest and its largest. */
const budgetOf: Readonly<Record<string, number>> = {
  minimal: 512,
  low: 4096,
  medium: 8192,
  high: 24_576,
};

function fitConfig(config: JsonObject, traits: GoogleModelTraits, check: RequestCheck): JsonObject {
  const out: Record<string, unknown> = { ...config };
  for (const name of ["maxOutputTokens", "max_output_tokens"]) {
    const outputMax = config[name];
    if (typeof outputMax === "number") out[name] = Math.min(outputMax, traits.outputTokensMax);
  }
  for (const name of ["thinkingConfig", "thinking_config"]) {
    const thinking = config[name];
    if (!isObject(thinking)) continue;
    if (traits.thinking === "none") {
      check.drop(`generationConfig.${name}`, "must be left out: the model can't think");
      delete out[name];
    } else out[name] = fitThinking(thinking, traits);
  }
  return out;
}

function fitThinking(
  thinking: JsonObject,
  { thinking: supported, budgets, takesMinimal }: GoogleModelTraits,
): JsonObject {
  const {
    thinkingLevel: camelLevel,
    thinking_level: level = camelLevel,
    thinkingBudget: camelBudget,
    thinking_budget: budget = camelBudget,
    ...others
  } = thinking;
  const [least, budgetMax] = budgets;
  if (supported === "budget" && typeof level === "string" && budget === undefined) {
    const wantedBudget = budgetOf[level.toLowerCase()] ?? budgetOf["high"]!;
    return { ...others, thinkingBudget: Math.min(Math.max(wantedBudget, least), budgetMax) };
  }
  // -1 leaves the budget to the model.
  if (supported === "budget" && typeof budget === "number" && budget >= 0)
    return { ...others, thinkingBudget: Math.min(Math.max(budget, least), budgetMax) };
  if (supported === "level" && !takesMinimal && String(level).toLowerCase() === "minimal")
    return { ...others, thinkingLevel: "LOW" };
  // Newer models still take a budget, but not beside a level.
  return supported === "level" && level !== undefined && budget !== undefined
    ? { ...others, thinkingLevel: level }
    : thinking;
}
