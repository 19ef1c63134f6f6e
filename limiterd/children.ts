/**
 * The children of one template, a million of them if need be. Two things keep the event loop from
 * standing still. The names are spread over many small maps, because a map that grows copies itself in
 * one go. And a child at rest is no object but six numbers in an array, because the garbage collector
 * walks through objects and not through numbers; it also takes a third of the memory.
 */
import { copyCounter, Counter, type Rule } from "./counter.js";
import type { Window } from "./window.js";

/** With more names than this one map becomes many. */
const namesInOneMap = 4096;
/** A power of two. With a million names each map holds some two thousand. */
const partsWhenMany = 512;
const smallestCapacity = 8;
/** startMs, the four counts, restoredLsn. */
const numbersPerWindow = 6;
const nothingPacked = new Float64Array(0);

/** Some of the names: each with its counter, or with its place in `packed` while it rests. */
class Part {
  readonly names = new Map<string, Counter | number>();
  #packed = nothingPacked;
  /** The first free place; each free place holds the next one in its first number. -1: none. */
  #free = -1;
  #resting = 0;

  startMs(place: number): number {
    return this.#packed[place * numbersPerWindow]!;
  }

  pack({ window, restoredLsn }: Counter): number {
    if (this.#free === -1) this.#resize(Math.max(smallestCapacity, this.#resting * 2));
    const place = this.#free;
    const at = place * numbersPerWindow;
    this.#free = this.#packed[at]!;
    this.#packed[at] = window.startMs;
    this.#packed[at + 1] = window.previousRequests;
    this.#packed[at + 2] = window.currentRequests;
    this.#packed[at + 3] = window.previousTokens;
    this.#packed[at + 4] = window.currentTokens;
    this.#packed[at + 5] = restoredLsn;
    this.#resting++;
    return place;
  }

  unpack(rule: Rule, name: string, place: number): Counter {
    const [startMs, previousRequests, currentRequests, previousTokens, currentTokens, restoredLsn] = this.#packed.subarray(place * numbersPerWindow) as unknown as [number, number, number, number, number, number];
    const window: Window = { startMs, previousRequests, currentRequests, previousTokens, currentTokens };
    return new Counter(rule, name, window, restoredLsn);
  }

  /** Gives a place back, which its name must not hold any more. */
  release(place: number): void {
    this.#packed[place * numbersPerWindow] = this.#free;
    this.#free = place;
    this.#resting--;
    const capacity = this.#packed.length / numbersPerWindow;
    if (capacity > smallestCapacity && this.#resting < capacity / 4) this.#resize(Math.max(smallestCapacity, capacity / 2));
  }

  /** Moves what rests to the beginning of another array. */
  #resize(capacity: number): void {
    const from = this.#packed;
    const to = new Float64Array(capacity * numbersPerWindow);
    let next = 0;
    for (const [name, known] of this.names) {
      if (typeof known !== "number") continue;
      to.set(from.subarray(known * numbersPerWindow, (known + 1) * numbersPerWindow), next * numbersPerWindow);
      this.names.set(name, next++);
    }
    for (let place = next; place < capacity; place++) to[place * numbersPerWindow] = place + 1 < capacity ? place + 1 : -1;
    this.#free = next < capacity ? next : -1;
    this.#packed = to;
  }
}

/** Most rules have no child, so they share this. */
const noParts: readonly Part[] = [];

export class Children {
  size = 0;
  readonly #rule: Rule;
  #parts = noParts;

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  /** A child's counter; from now on it is an object until it is packed again. */
  get(name: string): Counter | undefined {
    const part = this.#partOf(name);
    const known = part?.names.get(name);
    if (part === undefined || typeof known !== "number") return known as Counter | undefined;
    const counter = part.unpack(this.#rule, name, known);
    part.names.set(name, counter);
    part.release(known);
    return counter;
  }

  /** A child's counter to look at: a copy, and a child at rest stays packed. */
  copy(name: string): Counter | undefined {
    const part = this.#partOf(name);
    const known = part?.names.get(name);
    if (part === undefined || known === undefined) return undefined;
    return typeof known === "number" ? part.unpack(this.#rule, name, known) : copyCounter(known);
  }

  has(name: string): boolean {
    return this.#partOf(name)?.names.has(name) === true;
  }

  /** Whether this very counter is the one of its child. */
  holds(counter: Counter): boolean {
    return this.#partOf(counter.child)?.names.get(counter.child) === counter;
  }

  /** The counter of a child whose requests run, which is never packed. */
  busy(name: string): Counter | null {
    const known = this.#partOf(name)?.names.get(name);
    return typeof known === "object" && known.inFlight > 0 ? known : null;
  }

  /** Adds a child that isn't there. */
  add(counter: Counter): void {
    if (this.size === 0) this.#parts = [new Part()];
    else if (this.size === namesInOneMap && this.#parts.length === 1) this.#spread();
    this.#partOf(counter.child)!.names.set(counter.child, counter);
    this.size++;
  }

  delete(name: string): void {
    const part = this.#partOf(name);
    const known = part?.names.get(name);
    if (part === undefined || known === undefined) return;
    part.names.delete(name);
    if (typeof known === "number") part.release(known);
    this.size--;
    if (this.size === 0) this.#parts = noParts;
  }

  /** Packs a counter that nothing holds and that has nothing to be written. */
  pack(counter: Counter): void {
    if (counter.inFlight > 0 || counter.dirty || !this.holds(counter)) return;
    const part = this.#partOf(counter.child)!;
    part.names.set(counter.child, part.pack(counter));
  }

  /** When a child's window began; null while it is held, has something to be written, or isn't there. Packs it on the way. */
  restingSinceMs(name: string): number | null {
    const part = this.#partOf(name);
    const known = part?.names.get(name);
    if (part === undefined || known === undefined) return null;
    if (typeof known === "number") return part.startMs(known);
    this.pack(known);
    return known.inFlight > 0 || known.dirty ? null : known.window.startMs;
  }

  /** All names; those that come meanwhile may be among them. */
  *keys(): Generator<string> {
    for (const { names } of this.#parts) yield* names.keys();
  }

  /** Undefined while there is no child. */
  #partOf(name: string): Part | undefined {
    const parts = this.#parts;
    return parts.length <= 1 ? parts[0] : parts[spread(name) & (partsWhenMany - 1)]!;
  }

  #spread(): void {
    const [one] = this.#parts;
    this.#parts = Array.from({ length: partsWhenMany }, () => new Part());
    for (const [name, known] of one!.names) {
      const part = this.#partOf(name)!;
      part.names.set(name, typeof known === "number" ? part.pack(one!.unpack(this.#rule, name, known)) : known);
    }
  }
}

/** FNV-1a, its upper bits folded in. */
function spread(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
