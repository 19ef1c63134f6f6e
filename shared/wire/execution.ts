/**
 * The executed request that a settle reports for the usage record: a flat array on the wire, `[]`
 * if there is nothing to record. The caller's path is in the settle.
 *
 * The grammar checks only the types of the fields. Invalid values are a bug of a proxy: if they
 * broke the grammar, the daemon would close the connection, and the proxy would reconnect and
 * resend the settle forever. So the daemon counts the settle, and keeps the record only if `flawOf`
 * finds no invalid field.
 */
import { requestIdCharsMax, subjectBytesMax, tokensPerResponseMax } from "../bounds.js";
import { isCount } from "../checked.js";
import { costSources, isPicoUsd, type PicoUsd } from "../domain/money.js";
import { isPrintable } from "../domain/target-name.js";
import { areCalls, callsFromFlat, callsToFlat, type ToolCalls } from "../usage/tool-calls.js";
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
  oneOf,
  optional,
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
  /** Null if unpriced. */
  cost,
});
export type UsageBound = ValueOf<typeof usageBound>;

const toolCalls: Kind<ToolCalls> = {
  read(raw) {
    const parsed = callsFromFlat(raw);
    return parsed === undefined || parsed === "none" ? broken : parsed;
  },
  write: callsToFlat,
};

const details = orEmpty<UsageDetails>({
  read(raw) {
    const parsed = detailsFromFlat(raw);
    return parsed === undefined || parsed === null ? broken : parsed;
  },
  write: detailsToFlat,
});

/**
 * Tokens as in `docs/reference/usage-record.md`; the three costs are null together: unpriced, which
 * is not 0.
 */
const execution = structure({
  requestId: text,
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  endpoint: text,
  /** The instance whose answer or failure the client got, which may not be the settle's target. */
  provider: text,
  /** The provider's type. */
  providerType: text,
  /** The model's id there; empty if the request named none. */
  model: text,
  /**
   * The HTTP status that the client got; 499 if it had disconnected; 599 if its proxy stopped or
   * was killed; `interimStatus` if the request continues and its own record follows.
   */
  status: number,
  inputTokens: number,
  outputTokens: number,
  cachedInputTokens: number,
  cacheWriteInputTokens: number,
  inputCost: cost,
  outputCost: cost,
  /** Includes the fee per request, if the price has one. */
  totalCost: cost,
  cacheHit: flag,
  /** Prompt tokens that rewriters removed before the call. */
  rewriteTokensSaved: number,
  /** Null if no tokens were saved, or their cost is unknown. */
  rewriteCostSaved: cost,
  /** From the arrival of the request to the end of its response. */
  latencyMs: number,
  /** From the arrival of the request to the provider's first byte; null when none came. */
  firstByteMs: nullable(number),
  /** The id of the managed key; empty without one. */
  keyId: text,
  /** The virtual model or alias that the client named; empty if it named the model itself. */
  requestedModel: text,
  /** Null if the usage has no further details. */
  details,
  /**
   * The highest possible usage if the usage isn't known, so that tokens and costs are an estimate.
   * Null if they are known, or the whole answer was seen.
   */
  atMost: orEmpty(usageBound),
  /**
   * The provider's id of a response that isn't finished: a later settle with the same id reports
   * its usage. Empty if there is none.
   */
  responseId: text,
  /** The session that the client named; empty if none. */
  session: text,
  /** Absent if nothing was charged, or the usage is unpriced. */
  costSource: optional(oneOf(costSources)),
  /** The date of the price list; only if the cost is from it. */
  priceList: optional(text),
  /** The provider's id of the request; absent if it gave none. */
  providerRequestId: optional(text),
  /** The name of the provider's key; absent without one. */
  providerKey: optional(text),
  /**
   * How often the agent has repeated itself, or the number of its turns; absent unless it was
   * warned.
   */
  loop: optional(number),
  /** The enqueued tokens of a batch that was submitted, 0 if unknown; absent for others. */
  batchTokens: optional(number),
  /** The calls of tools that the provider ran; absent without any. */
  toolCalls: optional(toolCalls),
  /** The hard cap that ended the stream, in words; absent if none did. */
  cutBy: optional(text),
});
export type Execution = ValueOf<typeof execution>;

/** The record of a settle, or null. */
export const recordKind = orEmpty(execution);

/**
 * The status of a record that is part of a request, such as one response of a realtime session: it
 * doesn't count as another request.
 */
export const interimStatus = 102;

/** The status of a request that ended with its proxy. */
export const cutByStopStatus = 599;

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
  if (record.session !== "" && !isSession(record.session)) return "session";
  if (!isPlain(record.priceList, keyIdCharsMax)) return "priceList";
  if (!isPlain(record.providerRequestId, requestIdCharsMax)) return "providerRequestId";
  if (!isPlain(record.providerKey, keyIdCharsMax)) return "providerKey";
  if (record.loop !== undefined && !isCount(record.loop)) return "loop";
  const { atMost, responseId, batchTokens } = record;
  if (batchTokens !== undefined && !isCount(batchTokens)) return "batchTokens";
  if (record.toolCalls !== undefined && !areCalls(record.toolCalls)) return "toolCalls";
  if (!isPlain(record.cutBy, subjectBytesMax)) return "cutBy";
  if (responseId !== "" && !isObjectId(responseId)) return "responseId";
  if (atMost !== null && !isBound(atMost)) return "atMost";
  return record.details === null ? null : flawOfDetails(record.details);
}

function isBound({ tokens, cost }: UsageBound): boolean {
  return isCount(tokens) && tokens <= 4 * tokensPerResponseMax && isCost(cost);
}

function isPlain(value: string | undefined, charsMax: number): boolean {
  return value === undefined || (value.length <= charsMax && isPrintable(value));
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

/** UUIDs have 36 characters, and OpenAI's cache keys at most 64. */
export const sessionCharsMax = 128;

/** Printable ASCII without quotes and backslashes: it needs no escapes in a log line. */
const printable = /^[ !#-[\]-~]+$/;

/** Whether a text can be recorded as the session of an agent, as its request names it. */
export function isSession(value: unknown): value is string {
  return typeof value === "string" && value.length <= sessionCharsMax && printable.test(value);
}
