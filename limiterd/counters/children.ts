/**
 * The children of one template, up to a million. A child is a record in a table, not an object.
 * When a request uses a child, its record is checked out as a `Counter`; the counter is checked in
 * at the end of the message, or when its last request ends. So the garbage collector only visits
 * counters with requests in flight.
 */

import type { Walk } from "./child-blocks.js";
import { type HashKey, NameReader } from "./child-name.js";
import {
  readPosition,
  readRestoredLsn,
  readStartMs,
  readWindow,
  writeNumbers,
  writePosition,
} from "./child-numbers.js";
import { checkedOutMark, dirtyMark } from "./child-record.js";
import { ChildTable } from "./child-table.js";
import { type ChildCounters, Counter, copyCounter, type Rule } from "./counter.js";
import { rollWindow, type Window } from "./window.js";

/** The data of a template with children. */
interface ChildStore {
  readonly table: ChildTable;
  readonly checkedOut: CheckedOutCounters;
  /** The places of children that changed since the last snapshot took them, each once. */
  dirtyPlaces: number[];
}

export class Children implements ChildCounters {
  readonly rule: Rule;
  readonly #counterPool: CounterPool;
  /** Null without children, as for most rules. */
  #store: ChildStore | null = null;

  constructor(rule: Rule, counterPool: CounterPool) {
    this.rule = rule;
    this.#counterPool = counterPool;
  }

  get size(): number {
    return this.#store?.table.size ?? 0;
  }

  get isFull(): boolean {
    return this.size >= this.#counterPool.childrenMax;
  }

  get(name: string): Counter | undefined {
    const store = this.#store;
    if (store === null) return undefined;
    const place = store.table.find(name);
    if (place === -1) return undefined;
    const checkedOut = checkedOutAt(store, place);
    if (checkedOut !== null) return checkedOut;
    const counter = this.#read(store.table, name, place);
    this.#checkOut(store, counter);
    return counter;
  }

  copy(name: string): Counter | undefined {
    const store = this.#store;
    if (store === null) return undefined;
    const place = store.table.find(name);
    if (place === -1) return undefined;
    const counter = checkedOutAt(store, place);
    return counter === null ? this.#read(store.table, name, place) : copyCounter(counter);
  }

  copyAt(place: number): Counter {
    const store = this.#store!;
    const counter = checkedOutAt(store, place);
    return counter === null
      ? this.#read(store.table, store.table.name(place), place)
      : copyCounter(counter);
  }

  has(name: string): boolean {
    return this.#store !== null && this.#store.table.find(name) !== -1;
  }

  busy(name: string): Counter | null {
    const place = this.#store?.table.find(name) ?? -1;
    return place === -1 ? null : this.busyAt(place);
  }

  add(counter: Counter): void {
    const store = this.#keep();
    counter.place = store.table.add(counter.child);
    this.#counterPool.size++;
    this.#checkOut(store, counter);
  }

  load(name: string, window: Window, restoredLsn: number): void {
    const { table } = this.#keep();
    writeNumbers(table, table.add(name), window, restoredLsn);
    this.#counterPool.size++;
  }

  delete(place: number): void {
    const store = this.#store!;
    const counter = checkedOutAt(store, place);
    if (counter !== null) endCheckOut(store, counter);
    store.table.remove(place);
    this.#counterPool.size--;
    if (store.table.size === 0) this.#store = null;
  }

  isCheckedOut(counter: Counter): boolean {
    return this.#store?.checkedOut.has(counter) === true;
  }

  released(counter: Counter): void {
    this.#counterPool.released.push(counter);
  }

  checkIn(counter: Counter): void {
    const store = this.#store;
    if (store === null || counter.inFlight > 0 || !store.checkedOut.has(counter)) return;
    endCheckOut(store, counter);
    writeNumbers(store.table, counter.place, counter.window, counter.restoredLsn);
  }

  markDirty(counter: Counter): void {
    const store = this.#store;
    if (store === null || !store.checkedOut.has(counter)) return;
    counter.isDirty = true;
    store.table.setMark(counter.place, dirtyMark);
    if (store.dirtyPlaces.length === 0) this.#counterPool.dirtyTemplates.push(this);
    store.dirtyPlaces.push(counter.place);
  }

  takeDirty(): readonly number[] {
    const store = this.#store;
    if (store === null) return [];
    const { dirtyPlaces } = store;
    store.dirtyPlaces = [];
    return dirtyPlaces;
  }

  readDirty(place: number): { readonly child: string; readonly window: Window } {
    const store = this.#store!;
    const { table } = store;
    table.clearMark(place, dirtyMark);
    const counter = checkedOutAt(store, place);
    if (counter === null) return { child: table.name(place), window: readWindow(table, place) };
    counter.isDirty = false;
    return { child: counter.child, window: counter.window };
  }

  walk(): Walk {
    return this.#store?.table.walk() ?? emptyWalk;
  }

  name(place: number): string {
    return this.#store!.table.name(place);
  }

  busyAt(place: number): Counter | null {
    const counter = checkedOutAt(this.#store!, place);
    return counter !== null && counter.inFlight > 0 ? counter : null;
  }

  idleSinceMs(place: number, nowMs: number): number | null {
    const store = this.#store!;
    const { table } = store;
    const counter = checkedOutAt(store, place);
    if ((counter !== null && counter.inFlight > 0) || table.hasMark(place, dirtyMark)) return null;
    const startMs = counter === null ? readStartMs(table, place) : counter.window.startMs;
    const { periodMs } = this.rule;
    if (startMs <= nowMs + periodMs) return startMs;
    // The window is ahead, because the clock was set back.
    const window = counter?.window ?? readWindow(table, place);
    rollWindow(window, periodMs, nowMs);
    if (counter === null) writeNumbers(table, place, window, readRestoredLsn(table, place));
    return window.startMs;
  }

  tidy(place: number): void {
    this.#store!.table.tidy(place);
  }

  #keep(): ChildStore {
    this.#store ??= {
      table: new ChildTable(this.#counterPool.names),
      checkedOut: new CheckedOutCounters(),
      dirtyPlaces: [],
    };
    return this.#store;
  }

  #read(table: ChildTable, name: string, place: number): Counter {
    const counter = new Counter(
      this.rule,
      name,
      readWindow(table, place),
      readRestoredLsn(table, place),
    );
    counter.place = place;
    counter.isDirty = table.hasMark(place, dirtyMark);
    return counter;
  }

  #checkOut({ table, checkedOut }: ChildStore, counter: Counter): void {
    checkedOut.add(counter);
    table.setMark(counter.place, checkedOutMark);
    writePosition(table, counter.place, counter.position);
    this.#counterPool.released.push(counter);
  }
}

const emptyWalk: Walk = { next: () => -1 };

/** The counter of the child at a place, if it is checked out. */
function checkedOutAt({ table, checkedOut }: ChildStore, place: number): Counter | null {
  return table.hasMark(place, checkedOutMark) ? checkedOut.at(readPosition(table, place)) : null;
}

function endCheckOut({ table, checkedOut }: ChildStore, counter: Counter): void {
  checkedOut.remove(counter);
  table.clearMark(counter.place, checkedOutMark);
}

/**
 * State shared by the children of all templates of a rule book: their number, the counters to check
 * in, and the templates with dirty children.
 */
export class CounterPool {
  /** The number of children, including retired ones that aren't processed yet. */
  size = 0;
  readonly names: NameReader;
  /**
   * Counters that the next reclaim may check in: they were checked out, or their last request
   * ended.
   */
  readonly released: Counter[] = [];
  /** The templates with dirty children, each once. */
  dirtyTemplates: ChildCounters[] = [];

  /** Maximum number of children of one template. */
  readonly childrenMax: number;

  constructor(hashKey: HashKey, childrenMax: number) {
    this.childrenMax = childrenMax;
    this.names = new NameReader(hashKey);
  }

  /** Checks in every counter without a request in flight; don't use such a counter afterwards. */
  reclaim(): void {
    const { released } = this;
    for (let i = 0; i < released.length; i++) released[i]!.rule.children.checkIn(released[i]!);
    released.length = 0;
  }
}

/** The checked-out counters of one template's children, each at its own position. */
export class CheckedOutCounters {
  readonly #counters: (Counter | null)[] = [];
  readonly #freePositions: number[] = [];

  /** The counter at a used position. */
  at(position: number): Counter {
    return this.#counters[position]!;
  }

  /** Whether this very counter is checked out here. */
  has(counter: Counter): boolean {
    return counter.position !== -1 && this.#counters[counter.position] === counter;
  }

  add(counter: Counter): void {
    const position = this.#freePositions.pop() ?? this.#counters.length;
    this.#counters[position] = counter;
    counter.position = position;
  }

  remove(counter: Counter): void {
    this.#counters[counter.position] = null;
    this.#freePositions.push(counter.position);
    counter.position = -1;
  }
}
