/**
 * The children of one template, a million of them if need be. A child at rest is a record in a
 * table and no object. It is taken out, as a counter, when a request meets it, and put back when
 * nothing holds it any more: by the end of the message that met it, or when its last request ends.
 * So what the garbage collector has to look at is what is in flight, however many children there
 * are.
 */

import { type HashKey, NameReader } from "./child-name.js";
import { dirtyMark, outMark } from "./child-record.js";
import { ChildTable, type Walk } from "./child-table.js";
import { Counter, copyCounter, type Rule } from "./counter.js";
import type { Window } from "./window.js";

/** What the children of all templates of a book share. */
export class CounterPool {
  /** How many children there are, dropped ones that are still here included. */
  size = 0;
  readonly names: NameReader;
  /** Counters that were taken out, or whose last request has ended, since the last `rest`. */
  readonly loose: Counter[] = [];
  /** Those of which some are dirty, each once. */
  dirty: Children[] = [];

  constructor(hashKey: HashKey) {
    this.names = new NameReader(hashKey);
  }

  /**
   * Puts back every counter that nothing holds. Whoever isn't counted in its gauge must not use it
   * any more.
   */
  rest(): void {
    const { loose } = this;
    for (let i = 0; i < loose.length; i++) loose[i]!.rule.children.checkIn(loose[i]!);
    loose.length = 0;
  }
}

/** Of templates that have children. */
interface Kept {
  readonly table: ChildTable;
  /**
   * The counters that are out. A record that is out holds its slot here in place of its first
   * number.
   */
  readonly out: (Counter | null)[];
  readonly freeSlots: number[];
  /** The places of those that changed since they were last handed to a snapshot, each once. */
  dirty: number[];
}

export class Children {
  readonly rule: Rule;
  readonly #counterPool: CounterPool;
  /** Most rules have no child. */
  #kept: Kept | null = null;

  constructor(rule: Rule, counterPool: CounterPool) {
    this.rule = rule;
    this.#counterPool = counterPool;
  }

  get size(): number {
    return this.#kept?.table.size ?? 0;
  }

  /** A child's counter; it is taken out. */
  get(name: string): Counter | undefined {
    const kept = this.#kept;
    if (kept === null) return undefined;
    const place = kept.table.find(name);
    if (place === -1) return undefined;
    const out = outAt(kept, place);
    if (out !== null) return out;
    const counter = this.#read(kept.table, name, place);
    this.#takeOut(kept, counter);
    return counter;
  }

  /** A child's counter to look at: a copy, and a child at rest stays at rest. */
  copy(name: string): Counter | undefined {
    const kept = this.#kept;
    const place = kept?.table.find(name) ?? -1;
    if (kept === null || place === -1) return undefined;
    const counter = outAt(kept, place);
    return counter === null ? this.#read(kept.table, name, place) : copyCounter(counter);
  }

  has(name: string): boolean {
    return this.#kept !== null && this.#kept.table.find(name) !== -1;
  }

  /** Whether this very counter is the one of its child. */
  holds(counter: Counter): boolean {
    return counter.slot !== -1 && this.#kept?.out[counter.slot] === counter;
  }

  /** The counter of a child whose requests run. */
  busy(name: string): Counter | null {
    const place = this.#kept?.table.find(name) ?? -1;
    return place === -1 ? null : this.busyAt(place);
  }

  /** Adds a child that isn't there; its counter is out. */
  add(counter: Counter): void {
    const kept = this.#keep();
    counter.place = kept.table.add(counter.child);
    this.#counterPool.size++;
    this.#takeOut(kept, counter);
  }

  /**
   * Adds a child that isn't there, at rest, of many that come from the store. It is there once
   * `loaded` was called.
   */
  load(name: string, window: Window, restoredLsn: number): void {
    const { table } = this.#keep();
    write(table, table.load(name), window, restoredLsn);
    this.#counterPool.size++;
  }

  /** All that come from the store have come. */
  loaded(): void {
    this.#kept?.table.link();
  }

  delete(place: number): void {
    const kept = this.#kept!;
    const counter = outAt(kept, place);
    if (counter !== null) takeIn(kept, counter);
    kept.table.remove(place);
    this.#counterPool.size--;
    if (kept.table.size === 0) this.#kept = null;
  }

  /** A released counter that nothing holds any more goes back with the next `rest`. */
  loosen(counter: Counter): void {
    this.#counterPool.loose.push(counter);
  }

  /** Puts a counter back that nothing holds. */
  checkIn(counter: Counter): void {
    const kept = this.#kept;
    if (kept === null || counter.inFlight > 0 || !this.holds(counter)) return;
    takeIn(kept, counter);
    write(kept.table, counter.place, counter.window, counter.restoredLsn);
  }

  /** A counter that is out has changed. */
  markDirty(counter: Counter): void {
    const kept = this.#kept;
    if (kept === null || !this.holds(counter)) return;
    counter.dirty = true;
    kept.table.setMark(counter.place, dirtyMark);
    if (kept.dirty.length === 0) this.#counterPool.dirty.push(this);
    kept.dirty.push(counter.place);
  }

  /**
   * The places of the children that changed since the last call, each to be read once with
   * `readDirty`. They hold good until these children are dropped.
   */
  takeDirty(): readonly number[] {
    const kept = this.#kept;
    if (kept === null) return [];
    const { dirty } = kept;
    kept.dirty = [];
    return dirty;
  }

  /**
   * The name and the window of a child that changed, as they are now; from now on it hasn't
   * changed.
   */
  readDirty(place: number): { readonly child: string; readonly window: Window } {
    const kept = this.#kept!;
    const { table } = kept;
    table.clearMark(place, dirtyMark);
    const counter = outAt(kept, place);
    if (counter === null) return { child: table.name(place), window: windowAt(table, place) };
    counter.dirty = false;
    return { child: counter.child, window: counter.window };
  }

  /** All places, one after the other; a child that came meanwhile may be among them. */
  walk(): Walk {
    return this.#kept?.table.walk() ?? nowhere;
  }

  name(place: number): string {
    return this.#kept!.table.name(place);
  }

  /** The counter at a place, if its requests run. */
  busyAt(place: number): Counter | null {
    const counter = outAt(this.#kept!, place);
    return counter !== null && counter.inFlight > 0 ? counter : null;
  }

  /** When the window at a place began; null while it is held or is to be written. */
  idleSinceMs(place: number): number | null {
    const kept = this.#kept!;
    const { table } = kept;
    const counter = outAt(kept, place);
    if ((counter !== null && counter.inFlight > 0) || table.hasMark(place, dirtyMark)) return null;
    return counter === null
      ? table.numbers(place)[table.numbersAt(place)]!
      : counter.window.startMs;
  }

  /** Moves a child out of memory that is mostly free. */
  tidy(place: number): void {
    this.#kept!.table.tidy(place);
  }

  #keep(): Kept {
    return (this.#kept ??= {
      table: new ChildTable(this.#counterPool.names),
      out: [],
      freeSlots: [],
      dirty: [],
    });
  }

  #read(table: ChildTable, name: string, place: number): Counter {
    const counter = new Counter(
      this.rule,
      name,
      windowAt(table, place),
      table.numbers(place)[table.numbersAt(place) + 5]!,
    );
    counter.place = place;
    counter.dirty = table.hasMark(place, dirtyMark);
    return counter;
  }

  #takeOut(kept: Kept, counter: Counter): void {
    const { table, out } = kept;
    const slot = kept.freeSlots.pop() ?? out.length;
    out[slot] = counter;
    counter.slot = slot;
    table.setMark(counter.place, outMark);
    table.numbers(counter.place)[table.numbersAt(counter.place)] = slot;
    this.#counterPool.loose.push(counter);
  }
}

/** The counter of the child at a place, if it is out. */
function outAt({ table, out }: Kept, place: number): Counter | null {
  return table.hasMark(place, outMark) ? out[table.numbers(place)[table.numbersAt(place)]!]! : null;
}

function takeIn({ table, out, freeSlots }: Kept, counter: Counter): void {
  out[counter.slot] = null;
  freeSlots.push(counter.slot);
  counter.slot = -1;
  table.clearMark(counter.place, outMark);
}

const nowhere: Walk = { next: () => -1 };

function windowAt(table: ChildTable, place: number): Window {
  const numbers = table.numbers(place);
  const at = table.numbersAt(place);
  return {
    startMs: numbers[at]!,
    previousRequests: numbers[at + 1]!,
    currentRequests: numbers[at + 2]!,
    previousTokens: numbers[at + 3]!,
    currentTokens: numbers[at + 4]!,
  };
}

function write(table: ChildTable, place: number, window: Window, restoredLsn: number): void {
  const numbers = table.numbers(place);
  const at = table.numbersAt(place);
  numbers[at] = window.startMs;
  numbers[at + 1] = window.previousRequests;
  numbers[at + 2] = window.currentRequests;
  numbers[at + 3] = window.previousTokens;
  numbers[at + 4] = window.currentTokens;
  numbers[at + 5] = restoredLsn;
}
