/**
 * Makes the usage record that a settle carries (`shared/wire/execution.ts`) for a request that a
 * provider executed or the cache answered, and for a web search: its priced usage.
 */
import { subjectBytesMax } from "../../shared/bounds.js";
import type { CostSource, PicoUsd } from "../../shared/domain/money.js";
import type { Price } from "../../shared/domain/price.js";
import { printableName, type Target } from "../../shared/domain/target-name.js";
import type { ToolCalls } from "../../shared/usage/tool-calls.js";
import { detailsOf } from "../../shared/usage/usage-details.js";
import { type Execution, interimStatus, type UsageBound } from "../../shared/wire/execution.js";
import type { PriceSource } from "../prices/target-prices.js";
import { estimateSavedTokens } from "./count-usage.js";
import {
  type Costs,
  type PriceOfModel,
  priceAtMost,
  priceSavedTokens,
  priceUnknownUsage,
  priceUsage,
  withoutFee,
} from "./price-usage.js";
import type { Usage } from "./usage.js";

/** The result of a request at its provider, as far as the record needs it. */
export interface ProviderResult {
  /** The status that the client got. */
  readonly status: number;
  /** The charged usage; null if nothing is charged, as for an error. */
  readonly usage: Usage | null;
  /** The upper bound of the usage; null or absent if `usage` is exact. */
  readonly atMost?: Usage | null;
  /** The model that the answer names, if its target has no price; null or absent otherwise. */
  readonly servedModel?: string | null;
  /** Like that of `Usage`, for a result without usage. */
  readonly toolCalls?: ToolCalls;
  /** Whether the target has answered under this name; absent if `usage` implies it. */
  readonly isNameKnown?: boolean;
  /** As in `Execution`. */
  readonly responseId?: string;
  readonly providerRequestId?: string;
  readonly providerKey?: string;
  readonly batchTokens?: number;
  /** The hard cap that ended the stream, in words; empty or absent if none did. */
  readonly cutBy?: string;
  /**
   * Whether a provider worked on the request: it answered, or its answer was cut. False if no
   * provider could be reached, or none responded.
   */
  readonly executed: boolean;
  /** When the response began; null if it didn't. */
  readonly firstByteMonoMs: number | null;
}

interface AnsweredCall {
  readonly requestId: string;
  readonly endpoint: string;
  /** The target whose answer or failure the client got. */
  readonly target: Target;
  readonly providerType: string;
  /** Empty without a managed key. */
  readonly keyId: string;
  /** The virtual model or alias that the client named, or empty. */
  readonly requestedModel: string;
  /** The session that the client named, or empty. */
  readonly session: string;
  readonly startedMonoMs: number;
  readonly endedMonoMs: number;
}

export interface ExecutedCall extends AnsweredCall {
  /**
   * How often the agent has repeated itself, or the number of its turns; undefined unless it was
   * warned.
   */
  readonly loop?: number | undefined;
  /** The bytes that rewriters removed from the prompt. */
  readonly savedBytes: number;
  /** The price of the target that answered; null if unpriced. */
  readonly price: Price | null;
  readonly priceSource: PriceSource | null;
  /** Whether another record has the fee per request. */
  readonly isPart?: boolean;
  /** Whether a model answered, and its usage is completely unknown. */
  readonly isUnmetered: boolean;
  /** Prices of other models that worked on the answer. */
  readonly priceOf: PriceOfModel;
}

/** An error, or a request that was cut before its answer, costs nothing at any price. */
const noCosts: Costs = { inputCost: 0, outputCost: 0, totalCost: 0, source: "none" };

/** The record; null if no provider executed the request: none answered, or it was never sent. */
export function usageRecord(result: ProviderResult, request: ExecutedCall): Execution | null {
  const { executed, usage, atMost = null, responseId = "", status, firstByteMonoMs } = result;
  const { providerRequestId = "", providerKey = "", batchTokens, cutBy = "" } = result;
  if (!executed) return null;
  const costs = costsOf(usage, request);
  const costSource = sourceOf(usage, costs, request.priceSource);
  const saved = usage === null ? 0 : estimateSavedTokens(request.savedBytes);
  return {
    requestId: request.requestId,
    // A passthrough path may be longer than a record allows.
    endpoint: request.endpoint.slice(0, subjectBytesMax),
    provider: request.target.provider,
    providerType: request.providerType,
    model: request.target.model,
    status,
    inputTokens: usage === null ? 0 : usage.inputTokens,
    outputTokens: usage === null ? 0 : usage.outputTokens,
    cachedInputTokens: usage === null ? 0 : usage.cachedInputTokens,
    cacheWriteInputTokens: usage === null ? 0 : usage.cacheWriteInputTokens,
    inputCost: costs === null ? null : costs.inputCost,
    outputCost: costs === null ? null : costs.outputCost,
    totalCost: costs === null ? null : costs.totalCost,
    cacheHit: false,
    rewriteTokensSaved: saved,
    rewriteCostSaved: usage === null ? null : priceSavedTokens(saved, usage, request.price),
    latencyMs: roundMs(request.endedMonoMs - request.startedMonoMs),
    firstByteMs: firstByteMonoMs === null ? null : roundMs(firstByteMonoMs - request.startedMonoMs),
    keyId: request.keyId,
    requestedModel: request.requestedModel,
    details: usage === null ? null : usage.details,
    atMost: atMost === null ? null : boundOf(atMost, costs, request),
    responseId,
    session: request.session,
    costSource,
    priceList: costSource === "list" ? request.priceSource?.list : undefined,
    providerRequestId: providerRequestId === "" ? undefined : providerRequestId,
    providerKey: providerKey === "" ? undefined : providerKey,
    loop: request.loop,
    batchTokens,
    toolCalls: result.toolCalls ?? usage?.toolCalls,
    cutBy: cutBy === "" ? undefined : printableName(cutBy.slice(0, subjectBytesMax)),
  };
}

/** Undefined also if several models worked on the answer: each has a price of its own. */
function sourceOf(
  usage: Usage | null,
  costs: Costs | null,
  from: PriceSource | null,
): CostSource | undefined {
  if (costs === null || costs.source === "none") return undefined;
  if (costs.source === "reported") return "reported";
  return usage?.parts === undefined ? from?.kind : undefined;
}

function costsOf(usage: Usage | null, request: ExecutedCall): Costs | null {
  const { isUnmetered, price, priceOf } = request;
  const unmetered = isUnmetered ? priceUnknownUsage(price) : noCosts;
  const costs = usage === null ? unmetered : priceUsage(usage, price, priceOf);
  return request.isPart === true ? withoutFee(costs, price) : costs;
}

/**
 * The upper bound with the fee per request, which a provider may also bill for an attempt that was
 * lost.
 */
function boundOf(atMost: Usage, costs: Costs | null, { price }: ExecutedCall): UsageBound {
  const cost = price === null ? null : priceAtMost(atMost, price);
  return {
    tokens: atMost.totalTokens,
    cost: cost === null || costs === null ? cost : Math.max(cost, costs.totalCost),
  };
}

/** The record of a request that the cache answered: the usage of the cached answer, at no cost. */
export function cachedRecord(usage: Usage, answered: AnsweredCall): Execution {
  return {
    ...unadmittedRecord(200, answered),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    cacheWriteInputTokens: usage.cacheWriteInputTokens,
    cacheHit: true,
    details: usage.details,
  };
}

/** The record of a web search that Sluice ran between two turns of a model. */
export function searchRecord(cost: PicoUsd, answered: AnsweredCall): Execution {
  return {
    ...unadmittedRecord(interimStatus, answered),
    totalCost: cost,
    details: detailsOf(null, { webSearches: 1 }),
    toolCalls: { web_search: 1 },
  };
}

/** The record of a request without an admission: no tokens, no costs. */
function unadmittedRecord(status: number, answered: AnsweredCall): Execution {
  return {
    requestId: answered.requestId,
    endpoint: answered.endpoint,
    provider: answered.target.provider,
    providerType: answered.providerType,
    model: answered.target.model,
    status,
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: 0,
    outputCost: 0,
    totalCost: 0,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: roundMs(answered.endedMonoMs - answered.startedMonoMs),
    firstByteMs: null,
    keyId: answered.keyId,
    requestedModel: answered.requestedModel,
    details: null,
    atMost: null,
    responseId: "",
    session: answered.session,
  };
}

function roundMs(ms: number): number {
  return Math.max(0, Math.round(ms));
}
