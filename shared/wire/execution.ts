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
import {
  broken,
  flag,
  type Kind,
  kindOf,
  nullable,
  orEmpty,
  structure,
  text,
  type ValueOf,
} from "./wire-kinds.js";

const number = kindOf((value) => typeof value === "number");
/** Picodollars. */
const cost: Kind<PicoUsd | null> = nullable(number);

const usageBound = structure({
  tokens: number,
  /** Null: unpriced. */
  cost,
});
export type UsageBound = ValueOf<typeof usageBound>;

const details: Kind<UsageDetails | null> = {
  read(raw) {
    const known = detailsFromFlat(raw);
    return known === undefined ? broken : known;
  },
  write: detailsToFlat,
};

/**
 * Tokens as in `docs/reference/usage-record.md`; the three costs are null together: unpriced, which
 * is not 0.
 */
const execution = structure({
  requestId: text,
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  endpoint: text,
  /** The instance whose answer or failure the client got, whatever target the settle counts. */
  provider: text,
  /** The provider's type. */
  providerType: text,
  /** The model's id there; empty when the request named none. */
  model: text,
  /**
   * The HTTP status that the client got; 499: it was gone; 599: a stopping proxy cut it off;
   * `interimStatus`: the request goes on, and its own record follows.
   */
  status: number,
  inputTokens: number,
  outputTokens: number,
  cachedInputTokens: number,
  cacheWriteInputTokens: number,
  inputCost: cost,
  outputCost: cost,
  /** With a fee per request, if the price has one. */
  totalCost: cost,
  cacheHit: flag,
  /** Prompt tokens that rewriters removed before the call. */
  rewriteTokensSaved: number,
  /** Null: none were saved, or what they would have cost isn't known. */
  rewriteCostSaved: cost,
  /** From the arrival of the request to the end of its response. */
  latencyMs: number,
  /** From the arrival of the request to the provider's first byte; null when none came. */
  firstByteMs: nullable(number),
  /** The id of the managed key; empty without one. */
  keyId: text,
  /** The virtual model or alias that the client named; empty: it named the model itself. */
  requestedModel: text,
  /** Null: the usage said nothing more. */
  details,
  /**
   * The usage isn't known, and the tokens and costs are an estimate: what they may be at most.
   * Null: they are known, or all of the answer was seen.
   */
  atMost: orEmpty(usageBound),
  /**
   * Under which id its provider keeps a response that isn't done yet: its usage comes in a settle
   * of its own, with the same id. Empty: there is none.
   */
  responseId: text,
});
export type Execution = ValueOf<typeof execution>;

/** The record of a settle, or null. */
export const recordKind = orEmpty(execution);

/**
 * Of a record that is a part of a request, such as one response of a realtime session: it isn't
 * another request.
 */
export const interimStatus = 102;

const keyIdCharsMax = 64;

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
  const { atMost, responseId } = record;
  if (responseId !== "" && !isObjectId(responseId)) return "responseId";
  if (atMost !== null && !isBound(atMost)) return "atMost";
  return flawOfDetails(record.details);
}

function isBound({ tokens, cost }: UsageBound): boolean {
  return isCount(tokens) && tokens <= 4 * tokensPerResponseMax && isCost(cost);
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
