/** Memoization. */

/** Callers choose the texts: the number and length of cached ones are bounded. */
const textsMax = 500;
const charsMax = 64;

/** Calls `make` once per cached text. Not for secrets: they would stay in memory. */
export function cacheByText<T extends NonNullable<unknown>>(
  make: (text: string) => T,
): (text: string) => T {
  const cache = new Map<string, T>();
  return (text) => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const value = make(text);
    if (text.length > charsMax) return value;
    if (cache.size === textsMax) cache.clear();
    // A copy: a substring would keep the whole header text in memory.
    cache.set(` ${text}`.slice(1), value);
    return value;
  };
}

/** Memoizes the last key. */
export function cacheLast<K, V>(make: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | null = null;
  return (key) => {
    if (last === null || last.key !== key) last = { key, value: make(key) };
    return last.value;
  };
}
