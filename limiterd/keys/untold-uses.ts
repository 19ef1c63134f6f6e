/** The keys of whose last use other hosts are to be told; none while there are no others. */

interface UsedKey {
  readonly lastUsedAtMs: number | null;
}

export class UntoldUses<Key extends UsedKey> {
  #keys: Set<Key> | null = null;

  /** From now on others are told; first of all that is known. */
  begin(all: readonly Key[]): void {
    this.#keys = new Set(all.filter(({ lastUsedAtMs }) => lastUsedAtMs !== null));
  }

  add(key: Key): void {
    this.#keys?.add(key);
  }

  /** A key has taken the place of another. */
  replace(known: Key, key: Key): void {
    this.#keys?.delete(known);
    this.#keys?.add(key);
  }

  /** Up to `count` of them, which aren't to be told any more. */
  take(count: number): readonly Key[] {
    const taken: Key[] = [];
    for (const key of this.#keys ?? []) {
      if (taken.length === count) break;
      this.#keys?.delete(key);
      taken.push(key);
    }
    return taken;
  }
}
