/**
 * Whether the shares of a cap refuse a child's request although the cap has room: others may claim
 * what is left (`shared-cap.ts`). Of 100 slots that ten children share, one that has 90 gets no
 * more while others may claim the last ten. Pure. On several hosts, each takes the use of all hosts
 * to be divided among the children as its own is: who has 6 of 10 requests here has 60 of 100.
 */
import { type Counter, countsOf, shareOf } from "../counters/counter.js";
import { type SharedCap, sharerName, whole } from "../counters/shared-cap.js";
import { estimateRequests, rollWindow, slidingTokens, type Window } from "../counters/window.js";

/** A counter that children share, and that of the child that asks. */
export interface SharedCounter {
  readonly counter: Counter;
  readonly ofChild: Counter;
}

type SharedUnit = "requests" | "tokens" | "slots";

/** The child of a request below the shared counter's subject. */
export function sharerOf({ counter, ofChild }: SharedCounter): string {
  return counter.child === "" ? ofChild.child : ofChild.child.slice(counter.child.length + 1);
}

/** What the asking child uses. */
export function usedByAsking({ ofChild }: SharedCounter, unit: SharedUnit, nowMs: number): number {
  return usedOf(ofChild, unit, nowMs);
}

/**
 * Seconds until the shares admit a request of the child if nothing else is counted meanwhile; 0 if
 * they admit it now.
 */
export function waitForShare(
  shared: SharedCounter,
  { unit, cap, waits }: SharedPart,
  nowMs: number,
): number {
  const state = sharedCapOf(shared);
  const name = sharerOf(shared);
  if (state === undefined || state.divide(name, { cap, waits }, nowMs) === null) return 0;
  const room = new Room(shared, state, { name, unit, cap, waits, nowMs });
  if (room.admitsIn(0)) return 0;
  if (unit === "slots") return 1;
  // Then all windows are empty, and no child wants anything.
  let admitted = Math.ceil((2 * shared.counter.rule.periodMs) / 1000) + 1;
  let refused = 0;
  while (admitted - refused > 1) {
    const seconds = Math.floor((refused + admitted) / 2);
    if (room.admitsIn(1000 * seconds)) admitted = seconds;
    else refused = seconds;
  }
  return admitted;
}

/** A cap, its unit, and whether the request waits or can wait. */
interface SharedPart {
  readonly unit: SharedUnit;
  readonly cap: number;
  readonly waits: boolean;
}

interface AskedPart extends SharedPart {
  readonly name: string;
  readonly nowMs: number;
}

/** What the judged child and others have used of a cap, now and later. */
class Room {
  readonly #shared: SharedCounter;
  readonly #state: SharedCap;
  readonly #asked: AskedPart;
  readonly #children = new Map<string, Counter | undefined>();

  constructor(shared: SharedCounter, state: SharedCap, asked: AskedPart) {
    this.#shared = shared;
    this.#state = state;
    this.#asked = asked;
  }

  /** `inMs`: how long from now. */
  admitsIn(inMs: number): boolean {
    const { name, unit, cap, waits, nowMs } = this.#asked;
    const { counter, ofChild } = this.#shared;
    const atMs = nowMs + inMs;
    const free = cap - usedOfAll(counter, unit, { nowMs, inMs });
    if (free <= 0) return false;
    const division = this.#state.divide(name, { cap, waits }, atMs);
    if (division === null) return true;
    const counts = unit !== "tokens";
    const scale = scaleOf(this.#shared, unit, { nowMs, inMs });
    const used = scale * usedOf(ofChild, unit, atMs);
    const isWithin = (part: number): boolean => (counts ? used + 1 <= whole(part) : used < part);
    if (isWithin(division.floor)) return true;
    const keepsFloorsOnly = isWithin(division.own);
    let kept = 0;
    for (const { name: other, floor, claimed } of division.claims) {
      const part = keepsFloorsOnly ? floor : claimed;
      kept += Math.max(0, (counts ? whole(part) : part) - scale * this.#usedBy(other, atMs));
    }
    return counts ? kept + 1 <= free : kept < free;
  }

  #usedBy(name: string, nowMs: number): number {
    let child = this.#children.get(name);
    if (child === undefined && !this.#children.has(name)) {
      child = copyOfChild(this.#shared.counter, this.#shared.ofChild, name);
      this.#children.set(name, child);
    }
    return child === undefined ? 0 : usedOf(child, this.#asked.unit, nowMs);
  }
}

/** Whether a child without waiters has something left of its floors. */
export function hasFloorLeft(
  shared: SharedCounter,
  caps: readonly Omit<SharedPart, "waits">[],
  nowMs: number,
): boolean {
  const state = sharedCapOf(shared);
  const name = sharerOf(shared);
  return (
    state !== undefined &&
    caps.length > 0 &&
    caps.every(({ unit, cap }) =>
      state.isBelowFloor(
        name,
        scaleOf(shared, unit, { nowMs, inMs: 0 }) * usedOf(shared.ofChild, unit, nowMs),
        cap,
      ),
    )
  );
}

function copyOfChild(counter: Counter, ofChild: Counter, name: string): Counter | undefined {
  return ofChild.rule.children.copy(sharerName(counter.child, name));
}

export function sharedCapOf({ counter, ofChild }: SharedCounter): SharedCap | undefined {
  return ofChild.rule.sharing!.find(counter.child);
}

/**
 * How much more all hosts have counted than this one: a host knows only its own counts of each
 * child, and takes those of the others to be in the same proportion. 1 on one host.
 */
function scaleOf(
  { counter }: Pick<SharedCounter, "counter">,
  unit: SharedUnit,
  { nowMs, inMs }: { readonly nowMs: number; readonly inMs: number },
): number {
  if (shareOf(counter) === null) return 1;
  const here = usedOf(counter, unit, nowMs + inMs);
  return here === 0 ? 1 : Math.max(1, usedOfAll(counter, unit, { nowMs, inMs }) / here);
}

/** What this host has counted. */
function usedOf({ rule, window, inFlight }: Counter, unit: SharedUnit, nowMs: number): number {
  return unit === "slots" ? inFlight : estimated(window, rule.periodMs, unit, nowMs);
}

/** What all hosts have counted. */
function usedOfAll(
  counter: Counter,
  unit: SharedUnit,
  { nowMs, inMs }: { readonly nowMs: number; readonly inMs: number },
): number {
  if (shareOf(counter) === null) return usedOf(counter, unit, nowMs + inMs);
  const view = countsOf(counter, nowMs);
  return unit === "slots"
    ? view.inFlight
    : estimated(view.window, counter.rule.periodMs, unit, view.nowMs + inMs);
}

function estimated(window: Window, periodMs: number, unit: SharedUnit, nowMs: number): number {
  const rolled = { ...window };
  rollWindow(rolled, periodMs, nowMs);
  return unit === "requests"
    ? estimateRequests(rolled, periodMs, nowMs)
    : slidingTokens(rolled, periodMs, nowMs);
}
