/**
 * The usage of one response, and sums of usages: of a session, and of the calls behind one answer.
 */
import { isPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import { addedCalls, type ToolCalls } from "../../shared/usage/tool-calls.js";
import { addedDetails, type UsageDetails } from "../../shared/usage/usage-details.js";

/**
 * The usage of one response. `inputTokens + outputTokens` always equals `totalTokens`, the count
 * that token limits charge.
 */
export interface Usage {
  /** All input, including tokens read from a cache and written to one. */
  readonly inputTokens: number;
  /** All output, including reasoning. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** The part of the input that was read from a cache. */
  readonly cachedInputTokens: number;
  /** The part of the input that was written to a cache. */
  readonly cacheWriteInputTokens: number;
  /** The cost that the provider reports, or null. */
  readonly reportedCost: PicoUsd | null;
  /** Null if the provider reports no details. */
  readonly details: UsageDetails | null;
  /**
   * Parts that are priced one by one, since each has its own model or context. They add up to this
   * usage. Absent if it is one part.
   */
  readonly parts?: readonly UsagePart[];
  /** The kind of the pictures that were made, such as `high/1024x1024`. */
  readonly imageKind?: string;
  /** The calls of tools that the provider ran; absent without any. */
  readonly toolCalls?: ToolCalls;
}

export interface UsagePart {
  /** Null for the model of the whole. */
  readonly model: string | null;
  readonly usage: Usage;
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reportedCost: null,
  details: null,
};

export function sumOfUsages(a: Usage, b: Usage): Usage {
  const reported =
    a.reportedCost === null || b.reportedCost === null ? null : a.reportedCost + b.reportedCost;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    reportedCost: reported !== null && isPicoUsd(reported) ? reported : null,
    details: addedDetails(a.details, b.details),
    ...partsOfBoth(a, b),
    ...callsOfBoth(a, b),
  };
}

function callsOfBoth(a: Usage, b: Usage): Pick<Usage, "toolCalls"> {
  const toolCalls = addedCalls(a.toolCalls, b.toolCalls);
  return toolCalls === undefined ? {} : { toolCalls };
}

/** The parts of a sum, which are kept only if one of the usages has parts. */
function partsOfBoth(a: Usage, b: Usage): Pick<Usage, "parts"> {
  if (a.parts === undefined && b.parts === undefined) return {};
  return { parts: [...partsOf(a), ...partsOf(b)] };
}

function partsOf(usage: Usage): readonly UsagePart[] {
  return usage.parts ?? [{ model: null, usage }];
}
