/** How many requests that cost no admission one caller may have at once, for each kind of them. */

export class FreePlaces<Kind extends string> {
  readonly #max: Readonly<Record<Kind, number>>;
  /** By kind and caller; those without one aren't there. */
  readonly #taken = new Map<string, number>();

  constructor(max: Readonly<Record<Kind, number>>) {
    this.#max = max;
  }

  /** False: the caller has as many already. */
  take(kind: Kind, caller: string): boolean {
    const key = `${kind} ${caller}`;
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= this.#max[kind]) return false;
    this.#taken.set(key, taken + 1);
    return true;
  }

  give(kind: Kind, caller: string): void {
    const key = `${kind} ${caller}`;
    const left = (this.#taken.get(key) ?? 1) - 1;
    if (left === 0) this.#taken.delete(key);
    else this.#taken.set(key, left);
  }

  /** Of all kinds and callers; for tests. */
  get taken(): number {
    let taken = 0;
    for (const each of this.#taken.values()) taken += each;
    return taken;
  }
}
