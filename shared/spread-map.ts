/**
 * A Map for very many names. A Map that outgrows its table copies all of it in one turn, for which
 * every verdict waits: 20 ms at 131,072 entries, 80 ms at 262,144. So beyond a few thousand,
 * entries are spread over many small Maps.
 */

/** The used methods of a Map. */
export interface NamedValues<V>
  extends Pick<Map<string, V>, "get" | "has" | "delete" | "size" | "keys" | "values"> {
  set(name: string, value: V): void;
}

/** Maximum size of the first Map; most need no other. */
const firstMax = 4096;
const spreadOver = 256;

export class SpreadMap<V> implements NamedValues<V> {
  readonly #newMap: () => Map<string, V>;
  readonly #first: Map<string, V>;
  #others: readonly Map<string, V>[] = [];
  #size = 0;

  /** `newMap`: tests use it to observe the sizes of the Maps. */
  constructor(newMap: () => Map<string, V> = () => new Map()) {
    this.#newMap = newMap;
    this.#first = newMap();
  }

  get size(): number {
    return this.#size;
  }

  get(name: string): V | undefined {
    return this.#first.get(name) ?? this.#other(name)?.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, value: V): void {
    const existing = this.#holding(name);
    if (existing === null) this.#size++;
    (existing ?? this.#roomFor(name)).set(name, value);
  }

  delete(name: string): boolean {
    const existing = this.#holding(name);
    if (existing !== null) this.#size--;
    return existing?.delete(name) === true;
  }

  *keys(): MapIterator<string> {
    yield* this.#first.keys();
    for (const map of this.#others) yield* map.keys();
  }

  *values(): MapIterator<V> {
    yield* this.#first.values();
    for (const map of this.#others) yield* map.values();
  }

  #holding(name: string): Map<string, V> | null {
    if (this.#first.has(name)) return this.#first;
    const map = this.#other(name);
    return map?.has(name) === true ? map : null;
  }

  #roomFor(name: string): Map<string, V> {
    if (this.#first.size < firstMax) return this.#first;
    if (this.#others.length === 0) this.#others = Array.from({ length: spreadOver }, this.#newMap);
    return this.#other(name)!;
  }

  #other(name: string): Map<string, V> | undefined {
    return this.#others.length === 0 ? undefined : this.#others[mapIndex(name)];
  }
}

/** The hash isn't keyed: names chosen to collide make one Map large, as if there were only one. */
function mapIndex(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return (hash ^ (hash >>> 15)) & (spreadOver - 1);
}
