/**
 * What a settle tells of the one executed request that it ends, for the usage record: a flat array on
 * the wire, `[]` where there is nothing to record. Who called and where the request went stand in the
 * settle itself.
 */
import { isCount } from "../assert.js";
import { requestIdCharsMax, subjectBytesMax, tokensPerResponseMax } from "../bounds.js";
import { isPicoUsd, type PicoUsd } from "../money.js";

/** Tokens as in `docs/usage.md`; the three costs are null together: unpriced, which is not 0. */
export interface Execution {
  readonly requestId: string;
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  readonly endpoint: string;
  /** The provider's type, not its instance. */
  readonly providerType: string;
  /** The HTTP status that the client got; 499 when it was gone. */
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
}

const fields = 17;
const keyIdCharsMax = 64;

export function executionToWire(record: Execution | null): readonly unknown[] {
  if (record === null) return [];
  return [
    record.requestId, record.endpoint, record.providerType, record.status,
    record.inputTokens, record.outputTokens, record.cachedInputTokens, record.cacheWriteInputTokens,
    record.inputCost, record.outputCost, record.totalCost, record.cacheHit,
    record.rewriteTokensSaved, record.rewriteCostSaved, record.latencyMs, record.firstByteMs, record.keyId,
  ];
}

/** Undefined when it breaks the grammar. */
export function executionFromWire(flat: unknown): Execution | null | undefined {
  if (!Array.isArray(flat)) return undefined;
  if (flat.length === 0) return null;
  const [
    requestId, endpoint, providerType, status,
    inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens,
    inputCost, outputCost, totalCost, cacheHit,
    rewriteTokensSaved, rewriteCostSaved, latencyMs, firstByteMs, keyId,
  ] = flat as unknown[];
  if (flat.length !== fields || !isText(requestId, requestIdCharsMax) || !isText(endpoint, subjectBytesMax) || !isText(providerType, subjectBytesMax)) return undefined;
  if (!isCount(status) || status > 999 || typeof cacheHit !== "boolean" || typeof keyId !== "string" || keyId.length > keyIdCharsMax) return undefined;
  if (!isTokens(inputTokens) || !isTokens(outputTokens) || !isTokens(cachedInputTokens) || !isTokens(cacheWriteInputTokens) || !isTokens(rewriteTokensSaved)) return undefined;
  if (cachedInputTokens + cacheWriteInputTokens > inputTokens) return undefined;
  if (!isCost(inputCost) || !isCost(outputCost) || !isCost(totalCost) || !isCost(rewriteCostSaved)) return undefined;
  if ((inputCost === null) !== (totalCost === null) || (outputCost === null) !== (totalCost === null)) return undefined;
  if (!isCount(latencyMs) || !(firstByteMs === null || isCount(firstByteMs))) return undefined;
  return {
    requestId, endpoint, providerType, status, inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens,
    inputCost, outputCost, totalCost, cacheHit, rewriteTokensSaved, rewriteCostSaved, latencyMs, firstByteMs, keyId,
  };
}

function isText(value: unknown, charsMax: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= charsMax;
}

function isTokens(value: unknown): value is number {
  return isCount(value) && value <= tokensPerResponseMax;
}

function isCost(value: unknown): value is PicoUsd | null {
  return value === null || isPicoUsd(value);
}
