/**
 * The record of one executed request. The store keeps the records of one commit as one entry, under
 * a number that ascends with recording. Not here: the index by day (`record-days.ts`).
 */
import { recordLatenessMs } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { costSources, isSignedPicoUsd, type PicoUsd } from "../../shared/domain/money.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { isMoment } from "../../shared/time.js";
import { areCalls, callsFromFlat, callsToFlat } from "../../shared/usage/tool-calls.js";
import {
  detailsFromFlat,
  detailsToFlat,
  flawOfDetails,
  negatedDetails,
} from "../../shared/usage/usage-details.js";
import type { Execution } from "../../shared/wire/execution.js";
import type { Settle } from "../../shared/wire/message-to-daemon.js";

/**
 * A written record never changes, except that repricing notes its new costs on it; the difference
 * has a record of its own, so that sums of records are right. A record refers to its managed key
 * only by id. A record that cancels an estimate has negative tokens and costs.
 */
export interface UsageRecord extends Omit<Execution, "responseId" | "batchTokens"> {
  /** When the response ended. */
  readonly atMs: number;
  readonly userPath: string;
  readonly estimated: boolean;
  /** Only on a record that was repriced. */
  readonly repriced?: RepricedCosts;
  /** Only on the record of a difference, which has no tokens. */
  readonly corrects?: Correction;
}

/** What a repriced record costs since then. */
interface RepricedCosts extends NewCosts {
  readonly atMs: number;
}

/** All three costs are known. */
export interface NewCosts {
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly totalCost: PicoUsd;
}

interface Correction {
  /** The corrected record, `key.index`. */
  readonly id: string;
  readonly atMs: number;
  /** How many requests are no longer unpriced, 0 or 1. */
  readonly priced: number;
}

/**
 * The record of a settle that arrives for the first time. If the settle arrives more than a week
 * after its request ended, the record says that it ended a week ago, so that the records of a day
 * are in a bounded part of the table.
 *
 * Field by field (docs/contributing/decisions.md); without `responseId` and `batchTokens`.
 */
export function recordOf(
  { userPath, estimated, endedAgoMs }: Pick<Settle, "userPath" | "estimated" | "endedAgoMs">,
  record: Execution,
  nowMs: number,
): UsageRecord {
  return {
    atMs: Math.max(0, nowMs - Math.min(endedAgoMs, recordLatenessMs)),
    userPath,
    estimated,
    requestId: record.requestId,
    endpoint: record.endpoint,
    provider: record.provider,
    providerType: record.providerType,
    model: record.model,
    status: record.status,
    inputTokens: record.inputTokens,
    outputTokens: record.outputTokens,
    cachedInputTokens: record.cachedInputTokens,
    cacheWriteInputTokens: record.cacheWriteInputTokens,
    inputCost: record.inputCost,
    outputCost: record.outputCost,
    totalCost: record.totalCost,
    cacheHit: record.cacheHit,
    rewriteTokensSaved: record.rewriteTokensSaved,
    rewriteCostSaved: record.rewriteCostSaved,
    latencyMs: record.latencyMs,
    firstByteMs: record.firstByteMs,
    keyId: record.keyId,
    requestedModel: record.requestedModel,
    details: record.details,
    atMost: record.atMost,
    session: record.session,
    costSource: record.costSource,
    priceList: record.priceList,
    providerRequestId: record.providerRequestId,
    providerKey: record.providerKey,
    loop: record.loop,
    toolCalls: record.toolCalls,
    cutBy: record.cutBy,
  };
}

/**
 * `usage`: [lsn, record, …] by key: the records of one batch of the journal, in the order of their
 * settles.
 */
export function recordsToStored(lsn: number, records: readonly UsageRecord[]): readonly unknown[] {
  const value: unknown[] = [lsn];
  for (const r of records) {
    const stored: unknown[] = [
      r.atMs,
      r.requestId,
      r.userPath,
      r.keyId,
      r.provider,
      r.providerType,
      r.model,
      r.endpoint,
      r.status,
      r.estimated,
      r.cacheHit,
      r.inputTokens,
      r.outputTokens,
      r.cachedInputTokens,
      r.cacheWriteInputTokens,
      r.inputCost,
      r.outputCost,
      r.totalCost,
      r.rewriteTokensSaved,
      r.rewriteCostSaved,
      r.latencyMs,
      r.firstByteMs,
      r.requestedModel,
      r.details === null ? none : detailsToFlat(r.details),
      r.atMost === null ? null : r.atMost.tokens,
      r.atMost === null ? null : r.atMost.cost,
      r.session,
      r.costSource ?? "",
      r.priceList ?? "",
      r.providerRequestId ?? "",
      r.providerKey ?? "",
      changesToStored(r),
      r.loop ?? null,
      r.toolCalls === undefined ? none : callsToFlat(r.toolCalls),
      r.cutBy ?? "",
    ];
    while (stored.length > fixedFields && isOmitted(stored[stored.length - 1])) stored.pop();
    value.push(stored);
  }
  return value;
}

/** No details, or no calls. */
const none: readonly unknown[] = [];

/** Each stored record has this many fields; empty fields at its end are omitted. */
const fixedFields = 22;
const storedFields = 35;

function isOmitted(value: unknown): boolean {
  return value === "" || value === null || (Array.isArray(value) && value.length === 0);
}

/** `[atMs, inputCost, outputCost, totalCost]` or `[atMs, id, priced]`; null without changes. */
function changesToStored({ repriced, corrects }: UsageRecord): readonly unknown[] | null {
  if (corrects !== undefined) return [corrects.atMs, corrects.id, corrects.priced];
  if (repriced === undefined) return null;
  return [repriced.atMs, repriced.inputCost, repriced.outputCost, repriced.totalCost];
}

type Changes = Pick<UsageRecord, "repriced" | "corrects">;
const unchanged: Changes = {};

/** Null for anything that `changesToStored` doesn't make. */
function changesFromStored(value: unknown): Changes | null {
  if (value === null) return unchanged;
  if (!Array.isArray(value)) return null;
  const [atMs, first, second, third] = value as readonly unknown[];
  if (!isMoment(atMs)) return null;
  if (value.length === 3 && typeof first === "string" && (second === 0 || second === 1))
    return { corrects: { id: first, atMs, priced: second } };
  if (
    value.length !== 4 ||
    !isSignedPicoUsd(first) ||
    !isSignedPicoUsd(second) ||
    !isSignedPicoUsd(third)
  )
    return null;
  return { repriced: { atMs, inputCost: first, outputCost: second, totalCost: third } };
}

/** Null for what `recordsToStored` never wrote. */
export function recordsFromStored(value: readonly unknown[]): UsageRecord[] | null {
  if (!isCount(value[0])) return null;
  const records: UsageRecord[] = [];
  for (let i = 1; i < value.length; i++) {
    const item = value[i];
    const record =
      Array.isArray(item) && item.length >= fixedFields && item.length <= storedFields
        ? recordFromStored(item as unknown[])
        : null;
    if (record === null) return null;
    records.push(record);
  }
  return records;
}

function recordFromStored(item: readonly unknown[]): UsageRecord | null {
  const [
    atMs,
    requestId,
    userPath,
    keyId,
    provider,
    providerType,
    model,
    endpoint,
    status,
    estimated,
    cacheHit,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    inputCost,
    outputCost,
    totalCost,
    rewriteTokensSaved,
    rewriteCostSaved,
    latencyMs,
    firstByteMs,
    requestedModel = "",
    rawDetails = [],
    tokensAtMost = null,
    costAtMost = null,
    session = "",
    rawSource = "",
    priceList = "",
    providerRequestId = "",
    providerKey = "",
    rawChanges = null,
    loop = null,
    rawCalls = [],
    cutBy = "",
  ] = item;
  const costSource = costSources.find((source) => source === rawSource);
  const changes = changesFromStored(rawChanges);
  if (changes === null) return null;
  const calls = callsFromFlat(rawCalls);
  if (calls === undefined || (calls !== "none" && !areCalls(calls))) return null;
  const details = detailsFromFlat(rawDetails);
  if (
    typeof requestId !== "string" ||
    typeof userPath !== "string" ||
    !isNormalUserPath(userPath) ||
    typeof keyId !== "string"
  )
    return null;
  if (
    typeof provider !== "string" ||
    typeof providerType !== "string" ||
    typeof model !== "string" ||
    typeof endpoint !== "string" ||
    typeof requestedModel !== "string" ||
    typeof session !== "string" ||
    (costSource === undefined && rawSource !== "") ||
    typeof priceList !== "string" ||
    typeof providerRequestId !== "string" ||
    typeof providerKey !== "string" ||
    typeof cutBy !== "string" ||
    details === undefined ||
    (flawOfDetails(details) !== null && flawOfDetails(negatedDetails(details)) !== null)
  )
    return null;
  if (
    typeof estimated !== "boolean" ||
    typeof cacheHit !== "boolean" ||
    !isMoment(atMs) ||
    !isCount(status) ||
    !isCount(latencyMs) ||
    !(firstByteMs === null || isCount(firstByteMs)) ||
    !(loop === null || isCount(loop))
  )
    return null;
  if (
    !isTokens(inputTokens) ||
    !isTokens(outputTokens) ||
    !isTokens(cachedInputTokens) ||
    !isTokens(cacheWriteInputTokens) ||
    !isCount(rewriteTokensSaved)
  )
    return null;
  if (!(tokensAtMost === null || isTokens(tokensAtMost)) || !isCost(costAtMost)) return null;
  if (!isCost(inputCost) || !isCost(outputCost) || !isCost(totalCost) || !isCost(rewriteCostSaved))
    return null;
  return {
    atMs,
    requestId,
    userPath,
    keyId,
    provider,
    providerType,
    model,
    endpoint,
    status,
    estimated,
    cacheHit,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    inputCost,
    outputCost,
    totalCost,
    rewriteTokensSaved,
    rewriteCostSaved,
    latencyMs,
    firstByteMs,
    requestedModel,
    details,
    atMost: tokensAtMost === null ? null : { tokens: tokensAtMost, cost: costAtMost },
    session,
    costSource,
    priceList: priceList === "" ? undefined : priceList,
    providerRequestId: providerRequestId === "" ? undefined : providerRequestId,
    providerKey: providerKey === "" ? undefined : providerKey,
    loop: loop ?? undefined,
    toolCalls: calls === "none" ? undefined : calls,
    cutBy: cutBy === "" ? undefined : cutBy,
    ...changes,
  };
}

/** Negative in a record that cancels an estimate. */
function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isCost(value: unknown): value is number | null {
  return value === null || isSignedPicoUsd(value);
}
