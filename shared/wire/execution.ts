/**
 * What a settle reports of the executed request that it ends, for the usage record: a flat array on
 * the wire, `[]` where there is nothing to record. The caller's path is in the settle itself.
 *
 * The grammar checks only the types of the fields. Invalid values are a proxy's bug: if they broke
 * the grammar, the daemon would close the connection, and the proxy would reconnect and send the
 * same settle again, for ever. So the daemon counts the settle, and keeps the record only if
 * `flawOf` finds no invalid field.
 */
import { requestIdCharsMax, subjectBytesMax, tokensPerResponseMax } from "../bounds.js";
import { isCount } from "../checked.js";
import { isPicoUsd, type PicoUsd } from "../domain/money.js";
import { isPrintable } from "../domain/target-name.js";
import {
  detailsFromFlat,
  detailsToFlat,
  flawOfDetails,
  type UsageDetails,
} from "../usage/usage-details.js";
import { isObjectId } from "./stored-object.js";

/**
 * Tokens as in `docs/reference/usage-record.md`; the three costs are null together: unpriced, which
 * is not 0.
 */
export interface Execution {
  readonly requestId: string;
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  readonly endpoint: string;
  /** The instance whose answer or failure the client got, whatever target the settle counts. */
  readonly provider: string;
  /** The provider's type. */
  readonly providerType: string;
  /** The model's id there; empty when the request named none. */
  readonly model: string;
  /**
   * The HTTP status that the client got; 499: it was gone; 599: a stopping proxy cut it off;
   * `interimStatus`: the request goes on, and its own record follows.
   */
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteInputTokens: number;
  readonly inputCost: PicoUsd | null;
  readonly outputCost: PicoUsd | null;
  /** With a fee per request, if the price has one. */
  readonly totalCost: PicoUsd | null;
  readonly cacheHit: boolean;
  /** Prompt tokens that rewriters removed before the call. */
  readonly rewriteTokensSaved: number;
  /** Null: none were saved, or what they would have cost isn't known. */
  readonly rewriteCostSaved: PicoUsd | null;
  /** From the arrival of the request to the end of its response. */
  readonly latencyMs: number;
  /** From the arrival of the request to the provider's first byte; null when none came. */
  readonly firstByteMs: number | null;
  /** The id of the managed key; empty without one. */
  readonly keyId: string;
  /** The virtual model or alias that the client named; empty: it named the model itself. */
  readonly requestedModel: string;
  /** Null: the usage told nothing more. */
  readonly details: UsageDetails | null;
  /**
   * The usage isn't known, and the tokens and costs are an estimate: what they may be at most.
   * Null, or absent: they are known, or all of the answer was seen.
   */
  readonly atMost?: UsageBound | null;
  /**
   * Under which id its provider keeps a response that isn't done yet: its usage comes in a settle
   * of its own, with the same id. Absent, or empty: there is none.
   */
  readonly responseId?: string;
}

/** `cost` null: unpriced. */
export interface UsageBound {
  readonly tokens: number;
  readonly cost: PicoUsd | null;
}

/**
 * Of a record that is a part of a request, such as one response of a realtime session: it isn't
 * another request.
 */
export const interimStatus = 102;

const keyIdCharsMax = 64;

export function executionToWire(record: Execution | null): readonly unknown[] {
  if (record === null) return [];
  const { atMost = null, responseId = "" } = record;
  const flat: unknown[] = [
    record.requestId,
    record.endpoint,
    record.provider,
    record.providerType,
    record.model,
    record.status,
    record.inputTokens,
    record.outputTokens,
    record.cachedInputTokens,
    record.cacheWriteInputTokens,
    record.inputCost,
    record.outputCost,
    record.totalCost,
    record.cacheHit,
    record.rewriteTokensSaved,
    record.rewriteCostSaved,
    record.latencyMs,
    record.firstByteMs,
    record.keyId,
  ];
  const isMore = atMost !== null || responseId !== "";
  // Left out where they say nothing, as nearly always.
  if (record.requestedModel !== "" || record.details !== null || isMore)
    flat.push(record.requestedModel, detailsToFlat(record.details));
  if (isMore) flat.push(atMost?.tokens ?? null, atMost?.cost ?? null);
  if (responseId !== "") flat.push(responseId);
  return flat;
}

/** Undefined when it breaks the grammar. Values may still be invalid: see `flawOf`. */
export function executionFromWire(flat: unknown): Execution | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [
    requestId,
    endpoint,
    provider,
    providerType,
    model,
    status,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    inputCost,
    outputCost,
    totalCost,
    cacheHit,
    rewriteTokensSaved,
    rewriteCostSaved,
    latencyMs,
    firstByteMs,
    keyId,
    // Left out at the end where they say nothing.
    requestedModel = "",
    rawDetails = [],
    tokensAtMost = null,
    costAtMost = null,
    responseId = "",
  ]: readonly unknown[] = flat;
  if (
    !isText(requestId) ||
    !isText(endpoint) ||
    !isText(provider) ||
    !isText(providerType) ||
    !isText(model) ||
    !isText(keyId)
  )
    return undefined;
  if (
    !isNumber(status) ||
    !isNumber(inputTokens) ||
    !isNumber(outputTokens) ||
    !isNumber(cachedInputTokens) ||
    !isNumber(cacheWriteInputTokens) ||
    !isNumber(rewriteTokensSaved)
  )
    return undefined;
  if (
    !isNumberOrNull(inputCost) ||
    !isNumberOrNull(outputCost) ||
    !isNumberOrNull(totalCost) ||
    !isNumberOrNull(rewriteCostSaved)
  )
    return undefined;
  if (typeof cacheHit !== "boolean" || !isNumber(latencyMs) || !isNumberOrNull(firstByteMs))
    return undefined;
  if (!isNumberOrNull(tokensAtMost) || !isNumberOrNull(costAtMost)) return undefined;
  const details = detailsFromFlat(rawDetails);
  if (!isText(requestedModel) || !isText(responseId) || details === undefined) return undefined;
  return {
    requestId,
    endpoint,
    provider,
    providerType,
    model,
    status,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    inputCost,
    outputCost,
    totalCost,
    cacheHit,
    rewriteTokensSaved,
    rewriteCostSaved,
    latencyMs,
    firstByteMs,
    keyId,
    requestedModel,
    details,
    atMost: tokensAtMost === null ? null : { tokens: tokensAtMost, cost: costAtMost },
    responseId,
  };
}

/** The name of the first field with an invalid value, or null when the record can be kept. */
export function flawOf(record: Execution): string | null {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, totalCost, firstByteMs } = record;
  if (record.requestId === "" || record.requestId.length > requestIdCharsMax) return "requestId";
  if (!isSubject(record.endpoint)) return "endpoint";
  if (!isSubject(record.provider) || !isPrintable(record.provider)) return "provider";
  if (!isSubject(record.providerType)) return "providerType";
  if (record.model.length > subjectBytesMax || !isPrintable(record.model)) return "model";
  if (record.keyId.length > keyIdCharsMax) return "keyId";
  if (!isCount(record.status) || record.status > 999) return "status";
  if (!isTokens(inputTokens)) return "inputTokens";
  if (!isTokens(record.outputTokens)) return "outputTokens";
  if (!isTokens(cachedInputTokens) || cachedInputTokens > inputTokens) return "cachedInputTokens";
  if (!isTokens(cacheWriteInputTokens) || cachedInputTokens + cacheWriteInputTokens > inputTokens)
    return "cacheWriteInputTokens";
  if (!isTokens(record.rewriteTokensSaved)) return "rewriteTokensSaved";
  if (!isCost(record.inputCost) || (record.inputCost === null) !== (totalCost === null))
    return "inputCost";
  if (!isCost(record.outputCost) || (record.outputCost === null) !== (totalCost === null))
    return "outputCost";
  if (!isCost(totalCost)) return "totalCost";
  if (!isCost(record.rewriteCostSaved)) return "rewriteCostSaved";
  if (!isCount(record.latencyMs)) return "latencyMs";
  if (firstByteMs !== null && !isCount(firstByteMs)) return "firstByteMs";
  if (record.requestedModel.length > subjectBytesMax || !isPrintable(record.requestedModel))
    return "requestedModel";
  const { atMost = null, responseId = "" } = record;
  if (responseId !== "" && !isObjectId(responseId)) return "responseId";
  if (atMost !== null && !isBound(atMost)) return "atMost";
  return flawOfDetails(record.details);
}

function isBound({ tokens, cost }: UsageBound): boolean {
  return isCount(tokens) && tokens <= 4 * tokensPerResponseMax && isCost(cost);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isNumberOrNull(value: unknown): value is number | null {
  return value === null || typeof value === "number";
}

function isSubject(value: string): boolean {
  return value !== "" && value.length <= subjectBytesMax;
}

function isTokens(value: number): boolean {
  return isCount(value) && value <= tokensPerResponseMax;
}

function isCost(value: number | null): boolean {
  return value === null || isPicoUsd(value);
}
