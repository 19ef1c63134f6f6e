/** The usage records of a soak, read once and added up as they come. */
import type { RecordItem } from "../../../shared/api/record-item.js";
import type { DaemonClient } from "../../../shared/wire/daemon-client.js";
import type { Ledger } from "./ledger.js";
import { costMicroUsd, kindNameOf, tokensOf, userPathOf } from "./mix.js";

export interface Sum {
  requests: number;
  tokens: number;
  microUsd: number;
}

/** In the record of an attempt whose answer was lost (docs/reference/usage-record.md). */
const lostAttempt = 102;

export class Recorded {
  /** By number: how many records it has. */
  readonly times: Uint8Array;
  records = 0;
  cacheHits = 0;
  estimates = 0;
  /** Attempts whose answers were lost, and that another attempt followed. */
  lostAttempts = 0;
  readonly total: Sum = emptySum();
  /** By the first two segments of the user path, and by label. */
  readonly byPath = new Map<string, Sum>();
  readonly byLabel = new Map<string, Sum>();
  readonly wrong: string[] = [];
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.times = new Uint8Array(ledger.sent);
  }

  async readAll(daemon: DaemonClient): Promise<void> {
    for (let after: unknown = null; ; ) {
      const answer = await daemon.call("usage.export", { after });
      if (!answer.ok) throw new Error(`usage.export: ${answer.failure.message}`);
      const page = answer.body as { readonly records: readonly RecordItem[]; next: string | null };
      for (const record of page.records) this.#take(record);
      after = page.next;
      if (after === null) return;
    }
  }

  #take(record: RecordItem): void {
    this.records++;
    const n = Number(/^soak-(\d+)$/.exec(record.request_id)?.[1] ?? Number.NaN);
    if (!(n < this.times.length)) return this.#complain(`of nobody's request: ${show(record)}`);
    const isAttempt = record.status === lostAttempt;
    if (isAttempt) this.#compareAttempt(n, record);
    else {
      this.times[n]!++;
      this.#compare(n, record);
    }
    if (record.cache_hit) {
      this.cacheHits++;
      return;
    }
    if (record.estimated) this.estimates++;
    const path = userPathOf(n).split("/", 3).slice(0, 3).join("/");
    const labelled = record.labels.map((label) => sumIn(this.byLabel, label));
    const microUsd = Math.round((record.total_cost ?? 0) * 1e6);
    for (const sum of [this.total, sumIn(this.byPath, path), ...labelled]) {
      // Its request is counted with the attempt that followed.
      if (!isAttempt) sum.requests++;
      sum.tokens += record.total_tokens;
      sum.microUsd += microUsd;
    }
  }

  #compareAttempt(n: number, record: RecordItem): void {
    this.lostAttempts++;
    const microUsd = costMicroUsd(record.input_tokens, record.output_tokens);
    if (record.user_path !== userPathOf(n) || !record.estimated || record.cache_hit)
      this.#complain(`of a lost attempt of request ${n}: ${show(record)}`);
    if (record.total_cost === null || Math.abs(record.total_cost * 1e6 - microUsd) > 1e-3)
      this.#complain(`of a lost attempt of request ${n}: the cost: ${show(record)}`);
  }

  /** With what its client saw. */
  #compare(n: number, record: RecordItem): void {
    const outcome = this.#ledger.outcomeOf(n);
    const problem = (what: string): void =>
      this.#complain(`of request ${n} (${kindNameOf(n)}, ${outcome}): ${what}: ${show(record)}`);
    if (record.user_path !== userPathOf(n)) problem("the user path");
    if (record.cache_hit !== (outcome === "from the cache")) problem("cache_hit");
    if (outcome === "refused") problem("it was refused");
    const { input_tokens: input, output_tokens: output, status, estimated } = record;
    const microUsd = record.cache_hit ? 0 : costMicroUsd(input, output);
    if (record.total_cost === null || Math.abs(record.total_cost * 1e6 - microUsd) > 1e-3)
      problem("the cost");
    const truth = tokensOf(kindNameOf(n) === "asked again" ? null : n);
    const isTrue = input === truth.input && output === truth.output && !estimated;
    const isWhole = outcome === "whole" || outcome === "from the cache";
    if (isWhole && !(isTrue && status === 200))
      problem(`not ${truth.input} + ${truth.output} tokens, status 200`);
    // A proxy that is killed may have had the answer whole before its client had.
    if (outcome === "cut" && !((estimated || isTrue) && status === 200))
      problem("neither an estimate nor the truth");
    if (outcome === "provider failed" && status !== this.#ledger.statusOf(n))
      problem(`the status, not ${this.#ledger.statusOf(n)}`);
  }

  #complain(text: string): void {
    this.wrong.push(`a record ${text}`);
  }
}

export function emptySum(): Sum {
  return { requests: 0, tokens: 0, microUsd: 0 };
}

function sumIn(sums: Map<string, Sum>, key: string): Sum {
  const sum = sums.get(key) ?? emptySum();
  sums.set(key, sum);
  return sum;
}

function show({ request_id, status, estimated, input_tokens, output_tokens }: RecordItem): string {
  return JSON.stringify({ request_id, status, estimated, input_tokens, output_tokens });
}
