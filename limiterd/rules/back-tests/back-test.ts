/**
 * One back-test: each call reads and replays some records of a time range. The report is the result
 * so far.
 */
import type { BackTestReport } from "../../../shared/api/rule-item.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { TokenWeights } from "../../../shared/domain/token-weights.js";
import { Turns } from "../../../shared/long-lists.js";
import { dayMs, formatMillis } from "../../../shared/time.js";
import { interimStatus } from "../../../shared/wire/execution.js";
import { recordsPerCall, recordsPerStep } from "../../bounds.js";
import { cancellationOf, cancelsEstimate } from "../../usage/pending-responses.js";
import type { RecordKeys } from "../../usage/record-days.js";
import { batchesIn, type UsageReader } from "../../usage/usage-reader.js";
import type { UsageRecord } from "../../usage/usage-records.js";
import { Replay } from "./replay.js";
import type { PastRequest, RuleNames } from "./replayed-rule.js";

/**
 * How long before the range the replay begins, in ms, so that it knows the requests in flight at
 * the range's start.
 */
const slotsWarmMs = 3_600_000;

/** The rule to test, and the time range. */
export interface BackTestQuestion {
  readonly definition: RuleDefinition;
  /** The number of days until now. */
  readonly days: number;
}

interface BackTestOptions {
  readonly names: RuleNames;
  /** Why the rule would be inert; null if it is enforced as written. */
  readonly inert: string | null;
  /** For a rule without weights of its own. */
  readonly tokenWeights: TokenWeights | null;
  readonly nowMs: number;
}

export class BackTest {
  readonly question: BackTestQuestion;
  readonly #reader: UsageReader;
  readonly #replay: Replay;
  readonly #inert: string | null;
  readonly #tokenWeights: TokenWeights | null;
  readonly #fromMs: number;
  readonly #toMs: number;
  /** Where the replay begins: requests that started earlier don't matter. */
  readonly #warmFromMs: number;
  readonly #ranges: readonly RecordKeys[];
  #nextKey: number;
  #oldestMs: number | null = null;
  #recordsRead = 0;
  #isRead = false;
  /** Whether a call is running. */
  isBusy = false;
  askedMs: number;

  /** Tests against the records that are in the store now. */
  constructor(
    reader: UsageReader,
    question: BackTestQuestion,
    { names, inert, tokenWeights, nowMs }: BackTestOptions,
  ) {
    const { days: recordDays, lastKey } = reader.usage;
    const { definition, days } = question;
    const periodMs = definition.periodSeconds * 1000;
    this.question = question;
    this.#reader = reader;
    this.#toMs = nowMs;
    this.#fromMs = Math.max(0, nowMs - days * dayMs);
    this.#warmFromMs =
      periodMs === 0
        ? this.#fromMs - slotsWarmMs
        : this.#fromMs - (this.#fromMs % periodMs) - periodMs;
    this.#replay = new Replay(definition, names, { fromMs: this.#fromMs });
    this.#inert = inert;
    this.#tokenWeights = tokenWeights;
    this.#ranges = recordDays.keysOf(
      { fromMs: Math.max(0, this.#warmFromMs), beforeMs: null },
      lastKey + 1,
    );
    this.#nextKey = this.#ranges[0]?.from ?? 0;
    this.askedMs = nowMs;
    this.#findOldest(lastKey);
  }

  get isComplete(): boolean {
    return this.#isRead && this.#replay.held === 0;
  }

  /** Continues, in slices. Rejects with `StoreUnreadableError`. */
  async advance(): Promise<void> {
    const left = await this.#read(recordsPerCall);
    if (this.#isRead) await this.#play(left);
  }

  /** Reads about `count` records; returns how many are left of `count`. */
  async #read(count: number): Promise<number> {
    const { store, yieldToEventLoop } = this.#reader;
    let left = count;
    const turns = new Turns(recordsPerStep);
    if (this.#isRead) return left;
    for (const { key, records } of batchesIn(store, this.#ranges, this.#nextKey)) {
      for (const record of records) {
        this.#take(record);
        if (turns.isOver()) await yieldToEventLoop();
      }
      this.#nextKey = key + 1;
      left -= records.length;
      if (left <= 0) return 0;
    }
    this.#isRead = true;
    return left;
  }

  async #play(count: number): Promise<void> {
    const turns = new Turns(recordsPerStep);
    for (let i = 0; i < count && this.#replay.held > 0; i++) {
      this.#replay.playNext();
      if (turns.isOver()) await this.#reader.yieldToEventLoop();
    }
  }

  /** Adds a record to the replay. No rule applies to cache hits. */
  #take(record: UsageRecord): void {
    if (record.cacheHit) return;
    const request = pastRequest(record, this.#tokenWeights);
    if (request.startMs < this.#warmFromMs || request.startMs > this.#toMs) return;
    this.#recordsRead++;
    this.#replay.add(request);
  }

  #findOldest(lastKey: number): void {
    const all = this.#reader.usage.days.keysOf({ fromMs: null, beforeMs: null }, lastKey + 1);
    const first = batchesIn(this.#reader.store, all).next();
    this.#oldestMs = first.done === true ? null : (first.value.records[0]?.atMs ?? null);
  }

  /** `next`: the cursor for the next call. */
  report(next: string, nowMs: number): BackTestReport {
    const { sums, late, held } = this.#replay;
    const first = this.#ranges[0]?.from ?? 0;
    const end = this.#ranges.at(-1)?.before ?? 0;
    const read = this.#isRead ? 1 : (this.#nextKey - first) / (end - first);
    const played = this.#recordsRead === 0 ? 1 : 1 - held / this.#recordsRead;
    return {
      start: formatMillis(this.#fromMs),
      end: formatMillis(this.#toMs),
      oldest_record_at: this.#oldestMs === null ? null : formatMillis(this.#oldestMs),
      ...sums.sums,
      late,
      ...(this.#inert === null ? {} : { inert: this.#inert }),
      progress: this.isComplete ? 1 : Math.min(0.99, (read + played * read) / 2),
      next: this.isComplete ? null : next,
      server_time: formatMillis(nowMs),
    };
  }
}

/** The endpoints of submissions, as records have them; submissions hold no slot. */
const submissions: ReadonlySet<string> = new Set(["/v1/batches", "/v1/messages/batches"]);

/** A request as its record has it. `tokenWeights`: for a rule without weights of its own. */
export function pastRequest(record: UsageRecord, tokenWeights: TokenWeights | null): PastRequest {
  const { atMs, latencyMs, userPath, provider, model, endpoint, status } = record;
  const isWithdrawn = cancelsEstimate(record);
  const recorded = isWithdrawn ? cancellationOf(record) : record;
  return {
    startMs: Math.max(0, atMs - latencyMs),
    endMs: atMs,
    userPath,
    target: {
      provider,
      model,
      ...(record.toolCalls === undefined ? {} : { tools: Object.keys(record.toolCalls) }),
    },
    tokens: recorded.inputTokens + recorded.outputTokens,
    use: { recorded, tokenWeights, isWithdrawn },
    kind: status === interimStatus ? "part" : submissions.has(endpoint) ? "submission" : "request",
  };
}
