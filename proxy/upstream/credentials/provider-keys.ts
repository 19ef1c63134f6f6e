/**
 * Chooses one of a provider's keys for each call, and writes the headers that carry it. Keys that
 * the provider has just refused rest for a while; the others take turns by weight.
 *
 * Not here: reading the keys (`key-source.ts`).
 */

import type { ProviderConfig } from "../../../shared/config/config.js";
import type { WeightedKey } from "../../../shared/config/provider-type.js";
import { keyRestMsMax, rateLimitedKeyRestMs, refusedKeyRestMs } from "../../bounds.js";
import { readRetryAfterMs } from "../retry-wait.js";

interface RestingKey extends WeightedKey {
  /** The current weight, as in nginx's weighted round-robin. */
  current: number;
  /** The key rests until then. */
  untilMs: number;
}

export class ProviderKeys {
  readonly #monoMs: () => number;
  #keys: readonly RestingKey[] = [];
  /** Why a required key is missing; null if none is. */
  #missing: string | null;
  /** Requests another key from the file or the command; null without them. */
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

  /** Replaces the keys. A resting key that is still there continues to rest. */
  #set(keys: readonly WeightedKey[]): void {
    const before = this.#keys;
    this.#keys = keys.map((weightedKey) => {
      const { current = 0, untilMs = 0 } = before.find(({ key }) => key === weightedKey.key) ?? {};
      return { ...weightedKey, current, untilMs };
    });
  }

  /** `keys`: the keys that were read. Null after a failure, which keeps the old keys. */
  replaceKeys(keys: readonly WeightedKey[] | null, problem: string): void {
    if (keys !== null) {
      this.#missing = null;
      this.#set(keys);
    } else if (this.#keys.length === 0) this.#missing = problem;
  }

  get missing(): string | null {
    return this.#missing;
  }

  /** Whether refusals must be reported to `noteRefusal`. */
  get wantsRefusals(): boolean {
    return this.#keys.length > 1 || this.#renew !== null;
  }

  /** Null to call the provider without a key. */
  choose(): string | null {
    if (this.#keys.length < 2) return this.#keys[0]?.key ?? null;
    const nowMs = this.#monoMs();
    let best: RestingKey | null = null;
    let weightSum = 0;
    for (const providerKey of this.#keys) {
      if (providerKey.untilMs > nowMs) continue;
      weightSum += providerKey.weight;
      providerKey.current += providerKey.weight;
      if (best === null || providerKey.current > best.current) best = providerKey;
    }
    if (best === null) return this.#firstReadyKey().key;
    best.current -= weightSum;
    return best.key;
  }

  /** Empty for a key without a name. */
  nameOf(key: string): string {
    return this.#keys.find((providerKey) => providerKey.key === key)?.name ?? "";
  }

  /** The key that can be used first, for when all keys rest. */
  #firstReadyKey(): RestingKey {
    return this.#keys.reduce((first, providerKey) =>
      providerKey.untilMs < first.untilMs ? providerKey : first,
    );
  }

  /** The provider refused the key with a 401, 402, 403 or 429. */
  noteRefusal(key: string, status: number, retryAfterMs: number | null): void {
    if (status !== 429) this.#renew?.();
    const restMs = retryAfterMs ?? (status === 429 ? rateLimitedKeyRestMs : refusedKeyRestMs);
    const untilMs = this.#monoMs() + Math.min(restMs, keyRestMsMax);
    for (const providerKey of this.#keys)
      if (providerKey.key === key) providerKey.untilMs = Math.max(providerKey.untilMs, untilMs);
  }

  /** Whether a refused call can be repeated with another key now. */
  hasReady(): boolean {
    const nowMs = this.#monoMs();
    return this.#keys.length > 1 && this.#keys.some(({ untilMs }) => untilMs <= nowMs);
  }

  /** Removes the keys from a provider's text. */
  redact(text: string): string {
    return this.#keys.reduce((clean, { key }) => clean.replaceAll(key, "[redacted]"), text);
  }
}

/** Whether a status means that the provider refused the key. */
export function refusesKey(status: number): boolean {
  return status === 401 || status === 402 || status === 403 || status === 429;
}

/**
 * Notes refusals by the head of an answer. Created here so that the closure keeps no part of its
 * call in memory.
 */
export function noteRefusals(
  keys: ProviderKeys,
  key: string,
): (status: number, rawHeaders: readonly (Buffer | string)[]) => void {
  return (status, rawHeaders) => {
    if (refusesKey(status)) keys.noteRefusal(key, status, readRetryAfterMs(rawHeaders));
  };
}

/**
 * The headers for any path of the provider's origin. Gemini's own API, which is beside the
 * configured OpenAI-compatible one, takes keys in a header of its own, and would read a bearer
 * token as an OAuth token.
 */
export function credentialHeadersAt(
  provider: Pick<ProviderConfig, "credentialHeader" | "type" | "baseUrl">,
  key: string | null,
  path: string,
): readonly string[] {
  const { credentialHeader, type, baseUrl } = provider;
  if (
    key === null ||
    type !== "gemini" ||
    credentialHeader !== "authorization" ||
    path.startsWith(`${new URL(baseUrl).pathname}/`)
  )
    return credentialHeaders(provider, key);
  return ["x-goog-api-key", key];
}

/** The headers for the configured API: flat names and values; empty without a key. */
export function credentialHeaders(
  { credentialHeader }: Pick<ProviderConfig, "credentialHeader">,
  key: string | null,
): readonly string[] {
  if (key === null) return [];
  return [credentialHeader, credentialHeader === "authorization" ? `Bearer ${key}` : key];
}

/** The caller's headers, in which the operator's headers replace those of the same name. */
export function withOwnHeaders(
  clientHeaders: readonly string[],
  operatorHeaders: readonly string[],
): readonly string[] {
  if (operatorHeaders.length === 0) return clientHeaders;
  const names = new Set(
    operatorHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()),
  );
  const headers: string[] = [];
  for (let i = 0; i < clientHeaders.length; i += 2)
    if (!names.has(clientHeaders[i]!.toLowerCase()))
      headers.push(clientHeaders[i]!, clientHeaders[i + 1]!);
  return [...headers, ...operatorHeaders];
}

/** Removes the values of the operator's headers, which may be secrets, from a provider's text. */
export function redactHeaders(text: string, operatorHeaders: readonly string[]): string {
  return operatorHeaders.reduce(
    (clean, value, i) =>
      i % 2 === 0 || value.length < secretCharsMin ? clean : clean.replaceAll(value, "[redacted]"),
    text,
  );
}

/** Shorter values are words rather than secrets. */
const secretCharsMin = 8;
