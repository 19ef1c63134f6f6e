/**
 * What a response used, as the windows of rules count it: all tokens, those of the input or the
 * output, each with their weights, or the cost.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { ToolFilter } from "../../shared/config/model-filter.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import { type TokenWeights, weighTokens } from "../../shared/domain/token-weights.js";
import { areCalls } from "../../shared/usage/tool-calls.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { Rule } from "../counters/counter.js";

/** The fields of a record of which measures are made. */
export type RecordedUse = Pick<
  Execution,
  | "inputTokens"
  | "outputTokens"
  | "cachedInputTokens"
  | "cacheWriteInputTokens"
  | "totalCost"
  | "details"
  | "toolCalls"
>;

/** The details of what a response used, beside its number of tokens. */
export interface Use {
  /** Null, or invalid: the tokens count as input and as output, and the cost isn't known. */
  readonly recorded: RecordedUse | null;
  /** For rules without weights of their own; null: each token counts as one. */
  readonly tokenWeights: TokenWeights | null;
  /** Whether a window that counted this takes it back. */
  readonly isWithdrawn?: boolean;
}

/** What the window of a rule, or of a part of one, counts. Absent `use`: only tokens are known. */
export function amountOf(rule: Rule, tokens: number, use?: Use): number {
  const amount = amountUsed(rule, tokens, use);
  return use?.isWithdrawn === true ? 0 - amount : amount;
}

function amountUsed({ measure, definition }: Rule, tokens: number, use?: Use): number {
  const weights = definition.tokenWeights ?? use?.tokenWeights ?? null;
  if (measure === null && weights === null) return tokens;
  const given = use?.recorded ?? null;
  const recorded = given !== null && isValid(given) ? given : null;
  if (measure === "cost") return recorded?.totalCost ?? 0;
  if (measure === "tool_calls") return toolCallsOf(definition, recorded);
  if (recorded === null) return tokens;
  if (weights === null)
    return measure === "input_tokens" ? recorded.inputTokens : recorded.outputTokens;
  const reasoningTokens = recorded.details?.counts.reasoningTokens ?? 0;
  const part = measure === null ? "all" : measure === "input_tokens" ? "input" : "output";
  return weighTokens(weights, part, { ...recorded, reasoningTokens });
}

/** The calls of the rule's tools. */
function toolCallsOf(
  { models }: Rule["definition"],
  recorded: Pick<RecordedUse, "toolCalls"> | null,
): number {
  const calls = recorded?.toolCalls;
  return calls === undefined || models === undefined ? 0 : new ToolFilter(models).callsIn(calls);
}

/** A settle with an invalid record counts nevertheless (`shared/wire/execution.ts`). */
function isValid(recorded: RecordedUse): boolean {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = recorded;
  const { totalCost } = recorded;
  return (
    isTokens(inputTokens) &&
    isTokens(outputTokens) &&
    isCount(cachedInputTokens) &&
    isCount(cacheWriteInputTokens) &&
    cachedInputTokens + cacheWriteInputTokens <= inputTokens &&
    (totalCost === null || isPicoUsd(totalCost)) &&
    (recorded.toolCalls === undefined || areCalls(recorded.toolCalls))
  );
}

function isTokens(value: number): boolean {
  return isCount(value) && value <= tokensPerResponseMax;
}
