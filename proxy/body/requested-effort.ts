/**
 * How much a chat request asks a model to reason: in OpenAI's field `reasoning_effort`, or in the
 * object `reasoning` of OpenRouter's clients, whose names for efforts are OpenAI's (openrouter.ai,
 * "Reasoning tokens").
 */
import { isAbsent, isObject } from "../../shared/checked.js";

type Fields = Readonly<Record<string, unknown>>;

/** The efforts for token budgets up to these limits; above the last limit the effort is `high`. */
const efforts = [
  [4096, "low"],
  [16_384, "medium"],
] as const;

export function effortOfBudget(tokens: number): string {
  return efforts.find(([tokensMax]) => tokens <= tokensMax)?.[1] ?? "high";
}

/** As the client wrote it: not necessarily a string. Undefined if the request doesn't say. */
export function requestedEffort({ reasoning_effort: effort, reasoning }: Fields): unknown {
  if (!isAbsent(effort)) return effort;
  if (!isObject(reasoning)) return undefined;
  const { effort: named, max_tokens: tokens, enabled } = reasoning;
  if (enabled === false) return "none";
  if (!isAbsent(named)) return named;
  if (typeof tokens === "number") return tokens > 0 ? effortOfBudget(tokens) : "none";
  return enabled === true ? "medium" : undefined;
}

/** Whether the client wants the answer without its reasoning. */
export function hidesReasoning({ reasoning }: Fields): boolean {
  return isObject(reasoning) && reasoning["exclude"] === true;
}
