/**
 * Which of a provider's keys a call gets: those that the provider has just refused rest for a
 * while, the others take turns by their weights.
 *
 * Not here: where keys come from (`key-source.ts`).
 */
import type { WeightedKey } from "../../../shared/config/provider-type.js";
import { keyRestMsMax, rateLimitedKeyRestMs, refusedKeyRestMs } from "../../bounds.js";
import { readRetryAfterMs } from "../retry-wait.js";

interface RestingKey extends WeightedKey {
  /** nginx's current weight. */
  current: number;
  /** Until then it rests. */
  untilMs: number;
}

export class ProviderKeys {
  readonly #monoMs: () => number;
  #keys: readonly RestingKey[] = [];
  /** Why a required key is missing; null if none is missing. */
  #missing: string | null;
  /** Asks for another key, where they come from a file or a command. */
  readonly #renew: (() => void) | null;

  constructor(
    keys: readonly WeightedKey[],
    {
      monoMs,
      renew = null,
    }: { readonly monoMs: () => number; readonly renew?: (() => void) | null },
  ) {
    this.#monoMs = monoMs;
    this.#renew = renew;
    this.#missing = renew === null ? null : "its key hasn't been read yet";
    this.#set(keys);
  }

  /** One that was there before goes on resting. */
  #set(keys: readonly WeightedKey[]): void {
    const before = this.#keys;
    this.#keys = keys.map(({ key, weight }) => {
      const { current = 0, untilMs = 0 } = before.find((each) => each.key === key) ?? {};
      return { key, weight, current, untilMs };
    });
  }

  /** The keys that were read; null after a failure, which keeps the old keys. */
  renewed(keys: readonly WeightedKey[] | null, problem: string): void {
    if (keys !== null) {
      this.#missing = null;
      this.#set(keys);
    } else if (this.#keys.length === 0) this.#missing = problem;
  }

  get missing(): string | null {
    return this.#missing;
  }

  /** Whether it wants to know of refusals. */
  get learns(): boolean {
    return this.#keys.length > 1 || this.#renew !== null;
  }

  /** Null to call the provider without a key. */
  choose(): string | null {
    if (this.#keys.length < 2) return this.#keys[0]?.key ?? null;
    const nowMs = this.#monoMs();
    let best: RestingKey | null = null;
    let weightSum = 0;
    for (const each of this.#keys) {
      if (each.untilMs > nowMs) continue;
      weightSum += each.weight;
      each.current += each.weight;
      if (best === null || each.current > best.current) best = each;
    }
    if (best === null) return this.#soonest().key;
    best.current -= weightSum;
    return best.key;
  }

  /** All rest: the one whose rest is over first. */
  #soonest(): RestingKey {
    return this.#keys.reduce((first, each) => (each.untilMs < first.untilMs ? each : first));
  }

  /** The provider refused it with a 401, 402, 403 or 429. */
  refused(key: string, status: number, retryAfterMs: number | null): void {
    if (status !== 429) this.#renew?.();
    const restMs = retryAfterMs ?? (status === 429 ? rateLimitedKeyRestMs : refusedKeyRestMs);
    const untilMs = this.#monoMs() + Math.min(restMs, keyRestMsMax);
    for (const each of this.#keys)
      if (each.key === key) each.untilMs = Math.max(each.untilMs, untilMs);
  }

  /** Whether a call that was refused may be made with another key now. */
  hasReady(): boolean {
    const nowMs = this.#monoMs();
    return this.#keys.length > 1 && this.#keys.some(({ untilMs }) => untilMs <= nowMs);
  }

  /** Takes the keys out of a text of the provider's. */
  redact(text: string): string {
    return this.#keys.reduce((clean, { key }) => clean.replaceAll(key, "[redacted]"), text);
  }
}

/** Whether a status refuses the key that was sent. */
export function refusesKey(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 429;
}

/** For the head of an answer. It is made here so that it keeps nothing of its call in memory. */
export function noteRefusals(
  keys: ProviderKeys,
  key: string,
): (status: number, rawHeaders: readonly (Buffer | string)[]) => void {
  return (status, rawHeaders) => {
    if (refusesKey(status)) keys.refused(key, status, readRetryAfterMs(rawHeaders));
  };
}
