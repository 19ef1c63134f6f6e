/**
 * Background responses and batches, on which a provider works without a client. A response is
 * charged an estimate, which the reported usage replaces; if a response gets too old, the estimate
 * stays. A batch is charged when it has ended. They are kept in memory and in the table `objects`,
 * beside the owners of objects; a change is committed with the settle that causes it.
 */

import { isCount } from "../../shared/checked.js";
import type { BackgroundConfig } from "../../shared/config/config.js";
import { isPathWithin, parentPath } from "../../shared/domain/user-path.js";
import { isMoment } from "../../shared/time.js";
import { callsBeyond } from "../../shared/usage/tool-calls.js";
import { hasUnits, negatedDetails } from "../../shared/usage/usage-details.js";
import { interimStatus } from "../../shared/wire/execution.js";
import type { Change, Store } from "../store/store.js";
import { recordsFromStored, recordsToStored, type UsageRecord } from "./usage-records.js";

/** A response with unknown usage. `record`: the estimate that was charged. */
export interface PendingResponse {
  readonly id: string;
  readonly record: UsageRecord;
  /** The enqueued tokens of a batch; null for a response. */
  readonly batchTokens: number | null;
  /** When a proxy should ask next. */
  dueAtMs: number;
}

/** Tokens of a batch. */
export interface EnqueuedTokens {
  readonly userPath: string;
  readonly tokens: number;
}

/** The most tokens that the unfinished batches of a path, and of paths below it, may have. */
export interface EnqueuedCap {
  readonly path: string;
  readonly tokens: number;
}

interface Reserved extends EnqueuedTokens {
  readonly untilMs: number;
}

/** Longer than a submission takes; then its proxy is gone. */
const reservedMs = 900_000;

/**
 * The prefix of the keys of pending responses. No object id begins with it, and all ids sort after
 * it.
 */
const keyPrefix = "!";
/** The first key after those with the prefix. */
const afterPrefix = '"';
/** The factor by which the wait until the next question to the provider grows. */
const waitGrowth = 1.5;
/** The longest wait between two questions. */
const lookMsMax = 3_600_000;
/**
 * How long the mark of a replaced estimate is kept: longer than a client takes between reading
 * records and writing their new costs.
 */
const replacedKeptMs = 600_000;
/** Providers end a batch within 24 hours, and Gemini within 48; with a margin. */
const batchWaitMs = 50 * 3_600_000;

export class PendingResponses {
  readonly #bounds: BackgroundConfig;
  readonly #pending = new Map<string, PendingResponse>();
  /** When each estimate of the last minutes was replaced, by its `estimateMark`. */
  readonly #replaced = new Map<string, number>();
  /** The tokens of batches by path, each with those of the paths below it. */
  readonly #enqueued = new Map<string, number>();
  /** Tokens of batches that are being submitted. */
  #reserved: Reserved[] = [];
  /** How many responses weren't added because there were too many. */
  leftOut = 0;

  constructor(bounds: BackgroundConfig) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Reads the pending responses at a start. Throws `StoreUnreadableError`. */
  restore(store: Store, nowMs: number): void {
    const range = { from: keyPrefix, before: afterPrefix, limit: this.#bounds.max };
    for (const { key, value } of store.range("objects", range)) {
      const [userPath, expiresAtMs, ...flat] = value;
      const batchTokens = tokensFromStored(flat[0]);
      const record = recordsFromStored([0, batchTokens === null ? flat : flat.slice(1)])?.[0];
      if (record === undefined || record.userPath !== userPath || !isMoment(expiresAtMs)) continue;
      const name = String(key).slice(keyPrefix.length);
      const id = name.slice(0, name.indexOf(" "));
      const dueAtMs = nowMs + this.#bounds.lookMs;
      this.#keep(name, { id, record, batchTokens, dueAtMs });
    }
  }

  /**
   * Adds a response. Returns the changes to commit with its record: none if the response is known
   * already, or if there are too many. Then its estimate stays.
   */
  add(
    id: string,
    record: UsageRecord,
    nowMs: number,
    batchTokens: number | null = null,
  ): readonly Change[] {
    if (batchTokens !== null)
      this.endReservation({ userPath: record.userPath, tokens: batchTokens });
    if (this.#pending.size >= this.#bounds.max) {
      this.leftOut++;
      return [];
    }
    const name = nameOf(record.provider, id);
    if (this.#pending.has(name)) return [];
    const added = { id, record, batchTokens, dueAtMs: nowMs + this.#bounds.lookMs };
    this.#keep(name, added);
    const [, flat] = recordsToStored(0, [record]) as [number, readonly unknown[]];
    const ofBatch = batchTokens === null ? [] : [[batchTokens]];
    const value = [record.userPath, this.#expiresAtMs(added), ...ofBatch, ...flat];
    return [{ table: "objects", key: keyPrefix + name, value }];
  }

  /**
   * Reserves tokens for a batch until it is added or withdrawn, or its proxy is gone. If the
   * batches of a path would exceed a cap, reserves nothing and returns the cap, with the tokens
   * that count against it.
   */
  reserve(
    { userPath, tokens }: EnqueuedTokens,
    caps: readonly EnqueuedCap[],
    nowMs: number,
  ): { readonly cap: EnqueuedCap; readonly enqueued: number } | null {
    this.#reserved = this.#reserved.filter(isOpenAt(nowMs));
    for (const cap of caps) {
      if (!isPathWithin(userPath, cap.path)) continue;
      const enqueued = this.enqueuedAt(cap.path, nowMs);
      if (enqueued + tokens > cap.tokens) return { cap, enqueued };
    }
    this.#reserved.push({ userPath, tokens, untilMs: nowMs + reservedMs });
    return null;
  }

  /** The tokens of unfinished batches of this path, and of paths below it. */
  enqueuedAt(path: string, nowMs: number): number {
    let sum = this.#enqueued.get(path) ?? 0;
    for (const { userPath, tokens } of this.#reserved.filter(isOpenAt(nowMs)))
      if (isPathWithin(userPath, path)) sum += tokens;
    return sum;
  }

  /** The paths that have unfinished batches, each once. */
  pathsOfBatches(nowMs: number): readonly string[] {
    const paths = new Set<string>();
    for (const { record, batchTokens } of this.#pending.values())
      if (batchTokens !== null) paths.add(record.userPath);
    for (const { userPath } of this.#reserved.filter(isOpenAt(nowMs))) paths.add(userPath);
    return [...paths];
  }

  /** Ends the reservation of a batch that wasn't created, or is added. */
  endReservation({ userPath, tokens }: EnqueuedTokens): void {
    const index = this.#reserved.findIndex(
      (reserved) => reserved.userPath === userPath && reserved.tokens === tokens,
    );
    if (index !== -1) this.#reserved.splice(index, 1);
  }

  find(provider: string, id: string): PendingResponse | undefined {
    return this.#pending.get(nameOf(provider, id));
  }

  /** Up to `max` batches at a provider, the oldest first. */
  batchesAt(provider: string, max: number): readonly PendingResponse[] {
    const batches: PendingResponse[] = [];
    for (const pending of this.#pending.values()) {
      if (batches.length === max) break;
      if (pending.batchTokens !== null && pending.record.provider === provider)
        batches.push(pending);
    }
    return batches;
  }

  /**
   * The marks of estimates that are to be replaced, and of those replaced in the last minutes: a
   * client that read one of these may not have seen the record that cancels it.
   */
  openEstimates(nowMs: number): ReadonlySet<string> {
    this.#dropReplaced(nowMs);
    const marks = new Set(this.#replaced.keys());
    for (const { record } of this.#pending.values()) marks.add(estimateMark(record));
    return marks;
  }

  #dropReplaced(nowMs: number): void {
    for (const [name, atMs] of this.#replaced) {
      const isOld = atMs + replacedKeptMs <= nowMs || atMs > nowMs;
      if (!isOld && this.#replaced.size <= this.#bounds.max) return;
      this.#replaced.delete(name);
    }
  }

  /**
   * Removes a response. Returns it, and the change to commit with its final usage; undefined if it
   * isn't pending.
   */
  take(
    provider: string,
    id: string,
    nowMs: number,
  ): { readonly response: PendingResponse; readonly change: Change } | undefined {
    const name = nameOf(provider, id);
    const response = this.#pending.get(name);
    if (response === undefined) return undefined;
    this.#drop(name);
    this.#dropReplaced(nowMs);
    this.#replaced.set(estimateMark(response.record), nowMs);
    return { response, change: removalOf(name) };
  }

  /**
   * Returns up to `max` due responses and postpones them, so that no other proxy gets them
   * meanwhile.
   */
  due(nowMs: number, max: number): readonly PendingResponse[] {
    const { lookMs } = this.#bounds;
    const responses: PendingResponse[] = [];
    if (lookMs === 0) return responses;
    for (const pending of this.#pending.values()) {
      if (responses.length === max) break;
      if (pending.dueAtMs > nowMs && pending.dueAtMs <= nowMs + lookMsMax) continue;
      const waitedMs = Math.max(0, nowMs - pending.record.atMs);
      pending.dueAtMs = nowMs + Math.min(Math.max(lookMs, waitedMs * (waitGrowth - 1)), lookMsMax);
      responses.push(pending);
    }
    return responses;
  }

  /** Removes a response whose usage can't be known. Returns the changes. */
  forget(provider: string, id: string): readonly Change[] {
    const name = nameOf(provider, id);
    return this.#drop(name) ? [removalOf(name)] : [];
  }

  /** Removes responses that are too old; their usage stays unknown. Returns the changes. */
  expire(nowMs: number): readonly Change[] {
    const gone: Change[] = [];
    for (const [name, pending] of this.#pending) {
      if (this.#expiresAtMs(pending) > nowMs) continue;
      this.#drop(name);
      gone.push(removalOf(name));
    }
    return gone;
  }

  #keep(name: string, pending: PendingResponse): void {
    this.#pending.set(name, pending);
    this.#addEnqueued(pending, 1);
  }

  #drop(name: string): boolean {
    const pending = this.#pending.get(name);
    if (pending !== undefined) this.#addEnqueued(pending, -1);
    return this.#pending.delete(name);
  }

  #addEnqueued({ record, batchTokens }: PendingResponse, sign: 1 | -1): void {
    if (batchTokens === null) return;
    for (let path = record.userPath; ; path = parentPath(path)) {
      const tokens = (this.#enqueued.get(path) ?? 0) + sign * batchTokens;
      if (tokens === 0) this.#enqueued.delete(path);
      else this.#enqueued.set(path, tokens);
      if (path === "/") return;
    }
  }

  #expiresAtMs({ record, batchTokens }: PendingResponse): number {
    return record.atMs + (batchTokens === null ? this.#bounds.waitMs : batchWaitMs);
  }
}

function removalOf(name: string): Change {
  return { table: "objects", key: keyPrefix + name, value: undefined };
}

/** Whether a reservation holds now. One made before the clock was set back doesn't. */
function isOpenAt(nowMs: number): (reserved: Reserved) => boolean {
  return ({ untilMs }) => untilMs > nowMs && untilMs <= nowMs + reservedMs;
}

/** `[tokens]` of a batch; null for a response, whose record follows. */
function tokensFromStored(first: unknown): number | null {
  const tokens: unknown = Array.isArray(first) ? first[0] : null;
  return isCount(tokens) ? tokens : null;
}

function nameOf(provider: string, id: string): string {
  return `${id} ${provider}`;
}

/**
 * The mark of an estimate. The record that cancels the estimate has the same one. A request id
 * alone would not do, because callers choose it; they don't choose when a response ends.
 */
export function estimateMark({ atMs, provider, model, requestId }: UsageRecord): string {
  return `${atMs} ${provider} ${model} ${requestId}`;
}

/**
 * Whether the record that cancels an estimate leaves the fee per request charged. If the estimate
 * has units with fees of their own, its total doesn't tell them from the fee per request; then
 * everything is cancelled, and the final record has the fee.
 */
export function keepsFee({ details }: UsageRecord): boolean {
  return !hasUnits(details);
}

/**
 * The record that cancels an estimate, at the estimate's path and time; the fee per request may
 * stay (`keepsFee`). The calls of tools in the estimate stay: the final record has only further
 * ones.
 */
export function cancellationOf(record: UsageRecord): UsageRecord {
  const { atMost, details, inputCost, outputCost, totalCost } = record;
  const withoutFee = (inputCost ?? 0) + (outputCost ?? 0);
  return {
    ...record,
    status: interimStatus,
    inputTokens: negative(record.inputTokens),
    outputTokens: negative(record.outputTokens),
    cachedInputTokens: negative(record.cachedInputTokens),
    cacheWriteInputTokens: negative(record.cacheWriteInputTokens),
    inputCost: negativeCost(record.inputCost),
    outputCost: negativeCost(record.outputCost),
    totalCost: negativeCost(totalCost === null || !keepsFee(record) ? totalCost : withoutFee),
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 0,
    firstByteMs: null,
    details: negatedDetails(details),
    toolCalls: undefined,
    cutBy: undefined,
    atMost:
      atMost === null ? null : { tokens: negative(atMost.tokens), cost: negativeCost(atMost.cost) },
  };
}

/** Whether a record is one of `cancellationOf`. */
export function cancelsEstimate({ inputTokens, outputTokens, totalCost }: UsageRecord): boolean {
  return inputTokens < 0 || outputTokens < 0 || (totalCost ?? 0) < 0;
}

/** The record of the reported usage, with the estimate's path and key. */
export function finalOf(charged: UsageRecord, reported: UsageRecord): UsageRecord {
  return {
    ...reported,
    userPath: charged.userPath,
    requestId: charged.requestId,
    endpoint: charged.endpoint,
    provider: charged.provider,
    providerType: charged.providerType,
    model: charged.model,
    keyId: charged.keyId,
    requestedModel: charged.requestedModel,
    session: charged.session,
    providerRequestId: charged.providerRequestId,
    providerKey: charged.providerKey,
    status: interimStatus,
    estimated: false,
    cacheHit: false,
    atMost: null,
    toolCalls: callsBeyond(reported.toolCalls, charged.toolCalls),
  };
}

/** The negative of a count; 0 rather than -0. */
function negative(count: number): number {
  return 0 - count;
}

function negativeCost(cost: number | null): number | null {
  return cost === null ? null : negative(cost);
}
