/**
 * Requests that wait for room instead of being refused: a queue for each counter that refuses some,
 * and in it a line for each class, first come first served. The clock is an argument, monotonic and
 * in milliseconds. Not here: the verdicts (`handlers/handle-admit.ts`), and which class is next
 * (`class-order.ts`).
 */
import {
  classesPerJudgement,
  judgeAgainSharedMs,
  judgementsPerTurn,
  orderedClassesMax,
  waitersMax,
  waitersPerClassMax,
} from "../bounds.js";
import type { ClassOrder } from "./class-order.js";

export interface Waiting {
  /** The moment of its first question, also after a reconnect. */
  readonly arrivedMs: number;
  readonly deadlineMs: number;
}

/** The counter that refuses a request, and the request's class there. */
export interface WaitPlace {
  readonly key: string;
  readonly className: string;
  readonly order: () => ClassOrder;
  /** The expected time between two admissions, until some are observed; null: unknown. */
  readonly paceMs: number | null;
  /** The counter will probably have no room before this time. */
  readonly notBeforeMs: number;
  /** When to judge it again if nothing wakes the queue before. */
  readonly againMs: number;
}

/** What became of a request that was judged, for its place in the queues. */
export type WaitOutcome =
  | { readonly kind: "admitted" }
  /** Refused, denied, or sent to wait: it leaves its queue. */
  | { readonly kind: "answered" }
  /** A counter still refuses it: it waits there. */
  | { readonly kind: "refused"; readonly place: WaitPlace }
  /** Only requests of another queue are before it. */
  | { readonly kind: "behind"; readonly place: WaitPlace }
  /** Its verdict needs fresh counts of other hosts; `judgeAgain` follows. */
  | { readonly kind: "asking" }
  /** The other hosts don't answer now: it is judged later. */
  | { readonly kind: "later" };

interface Entry<W> {
  readonly waiting: W;
  readonly number: number;
  queue: Queue<W>;
  line: Line<W>;
  /** The last turn in which it was moved behind those of another queue. */
  movedInTurn: number;
}

interface Line<W> {
  readonly name: string;
  /** Ordered by arrival. */
  readonly entries: Entry<W>[];
}

/** Requests that were admitted at about one time. */
interface Admissions {
  readonly atMs: number;
  count: number;
}

interface Queue<W> {
  readonly key: string;
  readonly order: ClassOrder;
  readonly lines: Map<string, Line<W>>;
  size: number;
  /** When to judge its first request again; a wake-up sets it to 0. */
  dueMs: number;
  notBeforeMs: number;
  /**
   * The last turn in which its counter refused a request, and the classes that it refused in that
   * turn.
   */
  refusedTurn: number;
  readonly passedOver: Set<string>;
  /** Its request whose verdict waits for the counts of other hosts. */
  asking: Entry<W> | null;
  /** Until some admissions are observed. */
  readonly paceMs: number | null;
  /**
   * The last ones, grouped: many requests may be admitted at one moment, and then none for a while.
   */
  readonly admissions: Admissions[];
  /** When its last request was admitted; null: none was. */
  admittedMs: number | null;
}

/** The most waiting requests, and the most judgements of one turn; tests set lower bounds. */
interface WaitBounds {
  readonly all: number;
  readonly perClass: number;
  readonly judgements: number;
}

const defaultBounds: WaitBounds = {
  all: waitersMax,
  perClass: waitersPerClassMax,
  judgements: judgementsPerTurn,
};

export interface QueueView<W> {
  readonly key: string;
  readonly size: number;
  readonly classes: readonly { readonly name: string; readonly waiting: number }[];
  /** The one that is judged next. */
  readonly first: W;
  /** The one that has waited longest. */
  readonly oldest: W;
  /** The expected time until a request that comes now is admitted; null if unknown. */
  readonly expectedMs: number | null;
}

interface WaitingPlace {
  /** How many are admitted until its turn, from 1. */
  readonly position: number;
  /** The expected time until then; null if unknown. */
  readonly expectedMs: number | null;
}

export class WaitQueues<W extends Waiting> {
  readonly #bounds: WaitBounds;
  readonly #entries = new Map<W, Entry<W>>();
  /** The number of requests that wait. A field: each message to the daemon reads it. */
  size = 0;
  readonly #queues = new Map<string, Queue<W>>();
  #lastNumber = 0;
  #turn = 0;
  /** The request that is being judged. */
  #judged: Entry<W> | null = null;
  /** Queues whose first request waits until an older request of another queue has been judged. */
  readonly #blocked = new Set<Queue<W>>();
  /** The queue to judge next, before those that are due. */
  #next: Queue<W> | null = null;
  #nextDeadlineMs = Number.POSITIVE_INFINITY;
  /** Whether a queue was woken since the last turn. */
  isWoken = false;

  constructor(bounds: WaitBounds = defaultBounds) {
    this.#bounds = bounds;
  }

  has(waiting: W): boolean {
    return this.#entries.has(waiting);
  }

  /** Adds a request. False at a bound. */
  add(waiting: W, place: WaitPlace, nowMs: number): boolean {
    if (this.size >= this.#bounds.all) return false;
    const line = this.#queues.get(place.key)?.lines.get(place.className);
    if (line !== undefined && line.entries.length >= this.#bounds.perClass) return false;
    const isFirst = !this.#queues.has(place.key);
    const queue = this.#queueAt(place);
    // A known queue keeps its times: it may have been woken already.
    if (isFirst) this.#noteRefusal(queue, place);
    const number = ++this.#lastNumber;
    this.#entries.set(waiting, this.#join({ waiting, number }, queue, place.className, nowMs));
    this.size = this.#entries.size;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, waiting.deadlineMs);
    return true;
  }

  remove(waiting: W): void {
    const entry = this.#entries.get(waiting);
    if (entry === undefined) return;
    this.#entries.delete(waiting);
    this.size = this.#entries.size;
    this.#leave(entry);
  }

  /** Whether requests wait for the counter with this key. */
  isQueued(key: string): boolean {
    return this.#queues.has(key);
  }

  /** The counter with this key may have room. */
  wake(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) return;
    queue.dueMs = 0;
    this.isWoken = true;
  }

  wakeAll(): void {
    for (const key of this.#queues.keys()) this.wake(key);
  }

  /**
   * The wait behind the requests of a counter's queue: for a new request behind all, for one that
   * is being judged only behind older ones. 0: none.
   */
  behindMs(key: string, nowMs: number, classOf: () => string): number {
    const queue = this.#queues.get(key);
    if (queue === undefined) return 0;
    const judged = this.#judged;
    if (judged === null)
      return Math.max(1, expectedMs(queue, positionAtEnd(queue, classOf()), nowMs) ?? 1);
    if (queue === judged.queue || queue.asking !== null) return 0;
    // A hard cap may refuse a large request and have room for a small one, which must not pass it;
    // but what shares refuse to one class, another one may get.
    const isRefusedByClass =
      queue.refusedTurn === this.#turn && queue.order.refusesByClass === true;
    const first = isRefusedByClass ? null : firstOf(queue, nowMs);
    if (first !== null && isBefore(first, judged)) return 1;
    const firstOfClass = queue.lines.get(classOf())?.entries[0];
    return firstOfClass !== undefined && isBefore(firstOfClass, judged) ? 1 : 0;
  }

  /**
   * Judges the first request of each queue that is due, the oldest of them first, until every
   * counter refuses. Returns whether some queues are left for another turn.
   */
  turn(nowMs: number, judge: (waiting: W) => WaitOutcome): boolean {
    this.#turn++;
    this.isWoken = false;
    const due: Queue<W>[] = [];
    for (const queue of this.#queues.values()) {
      if (queue.dueMs > nowMs || queue.asking !== null) continue;
      queue.passedOver.clear();
      insert(due, queue, nowMs);
    }
    for (let judgements = 0; judgements < this.#bounds.judgements; ) {
      const queue = this.#next ?? due.pop();
      if (queue === undefined) return false;
      judgements += 1 + Math.floor(queue.lines.size / classesPerJudgement);
      if (this.#next === null) this.#blocked.clear();
      this.#next = null;
      const entry = firstOf(queue, nowMs);
      if (entry !== null) this.#judge(entry, judge, { due, nowMs });
      // No class of the queue may be judged: other queues needn't wait behind it in this turn.
      else queue.refusedTurn = this.#turn;
    }
    this.#next = null;
    return due.length > 0;
  }

  /** Judges a request once the counts of other hosts that it needed have arrived. */
  judgeAgain(waiting: W, nowMs: number, judge: (waiting: W) => WaitOutcome): void {
    const entry = this.#entries.get(waiting);
    if (entry === undefined) return;
    this.#turn++;
    entry.queue.asking = null;
    this.#judge(entry, judge, { due: [], nowMs });
    if (this.#next !== null) this.wake(this.#next.key);
    this.#next = null;
    if (this.#queues.get(entry.queue.key) === entry.queue && entry.queue.refusedTurn !== this.#turn)
      this.wake(entry.queue.key);
  }

  #judge(
    entry: Entry<W>,
    judge: (waiting: W) => WaitOutcome,
    { due, nowMs }: { readonly due: Queue<W>[]; readonly nowMs: number },
  ): void {
    const { queue, line, waiting } = entry;
    this.#judged = entry;
    const outcome = judge(waiting);
    this.#judged = null;
    switch (outcome.kind) {
      case "admitted":
        observePace(queue, nowMs);
        queue.order.admitted(line.name, nowMs);
        this.remove(waiting);
        break;
      case "answered":
        this.remove(waiting);
        break;
      case "asking":
        queue.asking = entry;
        return;
      case "later":
        queue.dueMs = nowMs + judgeAgainSharedMs;
        return;
      case "behind": {
        const { place } = outcome;
        const aheadQueue = this.#queues.get(place.key);
        if (aheadQueue === undefined) break;
        // To judge that queue again would change nothing, or it waits for this one.
        if (aheadQueue.refusedTurn === this.#turn || this.#blocked.has(aheadQueue)) {
          // It might go back and forth.
          if (entry.movedInTurn === this.#turn) queue.passedOver.add(line.name);
          else this.#move(entry, place, nowMs).movedInTurn = this.#turn;
          break;
        }
        this.#blocked.add(queue);
        this.#next = aheadQueue;
        aheadQueue.passedOver.clear();
        const index = due.indexOf(aheadQueue);
        if (index !== -1) due.splice(index, 1);
        break;
      }
      case "refused": {
        const { place } = outcome;
        const refusing = this.#queueAt(place);
        this.#noteRefusal(refusing, place);
        if (refusing !== queue) this.#move(entry, place, nowMs);
        else if (queue.order.refusesByClass === true) {
          queue.passedOver.add(line.name);
          if (firstOf(queue, nowMs) === null) return;
        } else return;
        break;
      }
    }
    if (queue.size > 0) insert(due, queue, nowMs);
  }

  #move(entry: Entry<W>, place: WaitPlace, nowMs: number): Entry<W> {
    this.#leave(entry);
    const moved = this.#join(entry, this.#queueAt(place), place.className, nowMs);
    this.#entries.set(entry.waiting, moved);
    return moved;
  }

  /** The requests past their deadline. The caller removes each with `remove`. */
  expired(nowMs: number): readonly W[] {
    if (nowMs < this.#nextDeadlineMs) return [];
    const over: W[] = [];
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#entries.keys()) {
      const { deadlineMs } = waiting;
      if (deadlineMs <= nowMs) over.push(waiting);
      else this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    }
    return over;
  }

  /** The place of a request of the class that comes now; null if none wait. */
  atEnd(key: string, className: string, nowMs: number): WaitingPlace | null {
    const queue = this.#queues.get(key);
    if (queue === undefined) return null;
    const position = positionAtEnd(queue, className);
    return { position, expectedMs: expectedMs(queue, position, nowMs) };
  }

  /** The place of a request; null if it doesn't wait. */
  placeOf(waiting: W, nowMs: number): WaitingPlace | null {
    const entry = this.#entries.get(waiting);
    if (entry === undefined) return null;
    const { queue, line } = entry;
    const position = positionOf(queue, line.name, line.entries.indexOf(entry) + 1);
    return { position, expectedMs: expectedMs(queue, position, nowMs) };
  }

  *views(nowMs: number): Generator<QueueView<W>> {
    for (const queue of this.#queues.values()) {
      const lines = [...queue.lines.values()];
      const oldest = lines
        .map(({ entries }) => entries[0]!)
        .reduce((a, b) => (isBefore(a, b) ? a : b));
      yield {
        key: queue.key,
        size: queue.size,
        classes: lines.map(({ name, entries }) => ({ name, waiting: entries.length })),
        first: (firstOf(queue, nowMs) ?? oldest).waiting,
        oldest: oldest.waiting,
        expectedMs: expectedMs(queue, queue.size + 1, nowMs),
      };
    }
  }

  #queueAt({ key, order, paceMs }: WaitPlace): Queue<W> {
    const existing = this.#queues.get(key);
    if (existing !== undefined) return existing;
    const queue: Queue<W> = {
      key,
      order: order(),
      lines: new Map(),
      size: 0,
      dueMs: 0,
      notBeforeMs: 0,
      refusedTurn: 0,
      passedOver: new Set(),
      asking: null,
      paceMs,
      admissions: [],
      admittedMs: null,
    };
    this.#queues.set(key, queue);
    return queue;
  }

  #noteRefusal(queue: Queue<W>, { notBeforeMs, againMs }: WaitPlace): void {
    if (queue.refusedTurn !== this.#turn) queue.passedOver.clear();
    queue.refusedTurn = this.#turn;
    queue.notBeforeMs = notBeforeMs;
    queue.dueMs = againMs;
  }

  /** Puts a request into the line of its class, by its arrival. */
  #join(
    { waiting, number }: Pick<Entry<W>, "waiting" | "number">,
    queue: Queue<W>,
    className: string,
    nowMs: number,
  ): Entry<W> {
    let line = queue.lines.get(className);
    if (line === undefined) {
      line = { name: className, entries: [] };
      queue.lines.set(className, line);
      queue.order.addClass(className, nowMs);
    }
    const entry = { waiting, number, queue, line, movedInTurn: 0 };
    let index = line.entries.length;
    while (index > 0 && isBefore(entry, line.entries[index - 1]!)) index--;
    line.entries.splice(index, 0, entry);
    queue.size++;
    return entry;
  }

  #leave(entry: Entry<W>): void {
    const { queue, line } = entry;
    if (queue.asking === entry) {
      queue.asking = null;
      this.wake(queue.key);
    }
    line.entries.splice(line.entries.indexOf(entry), 1);
    queue.size--;
    if (line.entries.length === 0) {
      queue.lines.delete(line.name);
      queue.order.removeClass(line.name);
    }
    if (queue.size === 0) this.#queues.delete(queue.key);
  }
}

function isBefore<W extends Waiting>(a: Entry<W>, b: Entry<W>): boolean {
  const { arrivedMs } = a.waiting;
  return arrivedMs === b.waiting.arrivedMs ? a.number < b.number : arrivedMs < b.waiting.arrivedMs;
}

/** The first request of the next class that wasn't refused in this turn. */
function firstOf<W extends Waiting>(queue: Queue<W>, nowMs: number): Entry<W> | null {
  for (const name of queue.order.inOrder(nowMs)) {
    const first = queue.lines.get(name)?.entries[0];
    if (first !== undefined && !queue.passedOver.has(name)) return first;
  }
  return null;
}

/** Keeps the queue with the oldest first request at the end. */
function insert<W extends Waiting>(due: Queue<W>[], queue: Queue<W>, nowMs: number): void {
  const first = firstOf(queue, nowMs);
  if (first === null) return;
  let from = 0;
  let to = due.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = firstOf(due[middle]!, nowMs);
    if (other === null || isBefore(first, other)) from = middle + 1;
    else to = middle;
  }
  due.splice(from, 0, queue);
}

/** The position of the request that is number `index`, from 1, of its class. */
function positionOf<W>(queue: Queue<W>, className: string, index: number): number {
  const { order, lines } = queue;
  // Comparing the shares of many classes takes too long.
  const isOrdered = lines.size <= orderedClassesMax;
  let position = index;
  for (const { name, entries } of lines.values()) {
    if (name === className) continue;
    const ahead = isOrdered ? order.ahead?.(className, index, name) : undefined;
    position += Math.min(entries.length, ahead ?? index);
  }
  return position;
}

function positionAtEnd<W>(queue: Queue<W>, className: string): number {
  return positionOf(queue, className, (queue.lines.get(className)?.entries.length ?? 0) + 1);
}

/** Admissions within this time are one entry of `Queue.admissions`, which keeps so many entries. */
const admissionsMs = 1000;
const admissionsMax = 8;

function observePace<W>(queue: Queue<W>, nowMs: number): void {
  const { admissions } = queue;
  queue.admittedMs = nowMs;
  const last = admissions.at(-1);
  if (last !== undefined && nowMs - last.atMs < admissionsMs) {
    last.count++;
    return;
  }
  admissions.push({ atMs: nowMs, count: 1 });
  if (admissions.length > admissionsMax) admissions.shift();
}

/** The mean time between two admissions; null until two requests were admitted. */
function observedPaceMs<W>({ paceMs, admissions, admittedMs }: Queue<W>): number | null {
  const [first] = admissions;
  if (first === undefined) return paceMs;
  const last = admissions.at(-1)!;
  if (last === first)
    return paceMs ?? (first.count === 1 ? null : (admittedMs! - first.atMs) / (first.count - 1));
  const count = admissions.reduce((sum, each) => sum + each.count, 0) - last.count;
  return (last.atMs - first.atMs) / count;
}

/**
 * Null if the time between admissions isn't known, as for slots until two requests were admitted.
 */
function expectedMs<W>(queue: Queue<W>, position: number, nowMs: number): number | null {
  const { notBeforeMs, admittedMs } = queue;
  const paceMs = observedPaceMs(queue);
  if (notBeforeMs > nowMs) return Math.round(notBeforeMs - nowMs + (position - 1) * (paceMs ?? 0));
  if (paceMs === null) return null;
  const sinceLastMs = admittedMs === null ? paceMs : nowMs - admittedMs;
  return Math.round(Math.max(0, position * paceMs - sinceLastMs));
}
