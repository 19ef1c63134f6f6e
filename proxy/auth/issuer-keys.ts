/**
 * The keys of one issuer: loaded at startup, reloaded when old, and reloaded for a token with an
 * unknown key (a rotation), but not for every such token.
 *
 * Loaded keys stay valid when a reload fails: an issuer's outage must not lock its callers out. Not
 * here: where keys are loaded from, and what is verified with them (`jose-issuers.ts`).
 */

export interface IssuerKeys<K> {
  /** The keys; null until the first load succeeds. Waits at most as long as `load`. */
  current(): Promise<K | null>;
  /** Newer keys than these; null without any. */
  newer(than: K): Promise<K | null>;
}

interface KeySourcePorts<K> {
  /** The text of the key set. Rejects within `keySetLoadMs`. */
  load(): Promise<string>;
  /** Throws for a text that is no key set. */
  parse(text: string): K;
  monoMs(): number;
  onLoaded(isFirst: boolean): void;
  onFailed(reason: string, keptOld: boolean): void;
}

export interface IssuerKeyAges {
  /** The age at which keys are loaded again. */
  readonly freshMs: number;
  /** Whether requests wait for the reload; otherwise the old keys apply meanwhile. */
  readonly waitForFresh: boolean;
  /** The shortest time between two loads for unknown keys. */
  readonly cooldownMs: number;
}

/** The shortest time from a failed load to the next. */
const retryMs = 1_000;

/** Starts loading immediately. */
export function createIssuerKeys<K>(ages: IssuerKeyAges, ports: KeySourcePorts<K>): IssuerKeys<K> {
  let cached: { readonly text: string; readonly keys: K } | null = null;
  let loading: Promise<void> | null = null;
  let nextLoadMonoMs = 0;
  let nextForcedMonoMs = 0;

  function reload(): Promise<void> {
    loading ??= load().finally(() => (loading = null));
    return loading;
  }

  async function load(): Promise<void> {
    try {
      const text = await ports.load();
      if (text !== cached?.text) {
        const keys = ports.parse(text);
        const isFirst = cached === null;
        cached = { text, keys };
        ports.onLoaded(isFirst);
      }
      nextLoadMonoMs = ports.monoMs() + ages.freshMs;
    } catch (error) {
      nextLoadMonoMs = ports.monoMs() + Math.max(retryMs, Math.min(ages.freshMs, ages.cooldownMs));
      ports.onFailed(error instanceof Error ? error.message : String(error), cached !== null);
    }
  }

  void reload();
  return {
    async current() {
      if (cached === null && loading !== null) await loading;
      if (ports.monoMs() >= nextLoadMonoMs) {
        const reloading = reload();
        if (cached === null || ages.waitForFresh) await reloading;
      }
      return cached?.keys ?? null;
    },
    async newer(than) {
      if (cached !== null && cached.keys !== than) return cached.keys;
      const nowMonoMs = ports.monoMs();
      if (loading === null && nowMonoMs < nextForcedMonoMs) return null;
      nextForcedMonoMs = nowMonoMs + ages.cooldownMs;
      await reload();
      return cached !== null && cached.keys !== than ? cached.keys : null;
    },
  };
}
