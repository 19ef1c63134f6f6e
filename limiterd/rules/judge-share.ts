/**
 * Whether the shares of a cap refuse a child's request although the cap has room: others may claim
 * what is left (`shared-cap.ts`). Of 100 slots that ten children share, one that has 90 gets no
 * more while others may claim the last ten. Pure. On several hosts, each takes the use of all hosts
 * to be divided among the children as its own is: who has 6 of 10 requests here has 60 of 100.
 */
import { type Counter, countsOf, shareOf } from "../counters/counter.js";
import { type DividedCap, type SharedCap, sharerName, whole } from "../counters/shared-cap.js";
import { estimateRequests, rollWindow, slidingTokens, type Window } from "../counters/window.js";

/** A counter that children share, and that of the child that asks. */
export interface SharedCounter {
  readonly counter: Counter;
  readonly childCounter: Counter;
}

type SharedUnit = "requests" | "tokens" | "slots";

/** The child of a request below the shared counter's subject. */
export function sharerOf({ counter, childCounter }: SharedCounter): string {
  return counter.child === ""
    ? childCounter.child
    : childCounter.child.slice(counter.child.length + 1);
}

/** What the asking child uses, with what its running requests hold of a hard cap. */
export function usedByAsking(shared: SharedCounter, unit: SharedUnit, nowMs: number): number {
  const { childCounter } = shared;
  return usedOf(childCounter, unit, nowMs) + heldOf(shared, { unit }, sharerOf(shared));
}

/**
 * What running requests of a child hold of a cap on tokens; null: of all children. If the cap isn't
 * hard, a request that waits counts what they will probably use.
 */
function heldOf(
  { counter, childCounter }: SharedCounter,
  { unit, waits = false }: Pick<SharedPart, "unit"> & { readonly waits?: boolean },
  name: string | null,
): number {
  if (unit !== "tokens") return 0;
  if (counter.rule.definition.hold === undefined)
    return waits ? (childCounter.rule.sharing!.find(counter.child)?.reservedBy(name) ?? 0) : 0;
  return name === null
    ? (counter.rule.held?.of(counter.child) ?? 0)
    : (childCounter.rule.held?.of(sharerName(counter.child, name)) ?? 0);
}

/**
 * Seconds until the shares admit a request of the child if nothing else is counted meanwhile; 0 if
 * they admit it now.
 */
export function waitForShare(shared: SharedCounter, part: SharedPart, nowMs: number): number {
  const { unit, cap, need = 0 } = part;
  const state = sharedCapOf(shared);
  // What needs more than the whole cap is refused by the cap.
  if (state === undefined || need > cap) return 0;
  if (state.divide(sharerOf(shared), part, nowMs) === null) return 0;
  const room = new Room(shared, state, part, nowMs);
  if (room.admitsIn(0, "with what is held")) return 0;
  // A running request may end at any time.
  if (unit === "slots" || room.admitsIn(0)) return 1;
  // After two periods all windows are empty, and no child wants anything.
  let admitted = Math.ceil((2 * shared.counter.rule.periodMs) / 1000) + 1;
  let refused = 0;
  while (admitted - refused > 1) {
    const seconds = Math.floor((refused + admitted) / 2);
    if (room.admitsIn(1000 * seconds)) admitted = seconds;
    else refused = seconds;
  }
  return admitted;
}

/**
 * How much of a hard cap's room a child's running request may get: all of it, unless others may
 * claim a part. It must hold nothing.
 */
export function roomOfShare(shared: SharedCounter, cap: number, nowMs: number): number {
  const { counter } = shared;
  const state = sharedCapOf(shared);
  const part = { unit: "tokens", cap, waits: false, isRunning: true } as const;
  if (state !== undefined) return new Room(shared, state, part, nowMs).room(0, "with what is held");
  const used = usedOfAll(counter, "tokens", { nowMs, inMs: 0 });
  return cap - used - heldOf(shared, part, null);
}

/** A cap and its unit. */
interface SharedPart extends DividedCap {
  readonly unit: SharedUnit;
  /** What a request needs of a hard cap; absent: anything. */
  readonly need?: number | undefined;
}

/** What the judged child and others have used of a cap, now and later. */
class Room {
  readonly #shared: SharedCounter;
  readonly #state: SharedCap;
  readonly #part: SharedPart;
  readonly #nowMs: number;
  readonly #children = new Map<string, Counter | undefined>();

  constructor(shared: SharedCounter, state: SharedCap, part: SharedPart, nowMs: number) {
    this.#shared = shared;
    this.#state = state;
    this.#part = part;
    this.#nowMs = nowMs;
  }

  admitsIn(inMs: number, held: "with what is held" | null = null): boolean {
    const { unit, need } = this.#part;
    const room = this.room(inMs, held);
    return unit === "tokens" && need === undefined ? room > 0 : room >= (need ?? 1);
  }

  /** What the child may use `inMs` from now; `held`: beside what requests hold of a hard cap. */
  room(inMs: number, held: "with what is held" | null): number {
    const { unit, cap } = this.#part;
    const { counter, childCounter } = this.#shared;
    const asking = sharerOf(this.#shared);
    const nowMs = this.#nowMs;
    const atMs = nowMs + inMs;
    const isHeld = held !== null;
    const holds = (name: string | null): number =>
      isHeld ? heldOf(this.#shared, this.#part, name) : 0;
    const heldHere = holds(null);
    const free = cap - usedOfAll(counter, unit, { nowMs, inMs }) - heldHere;
    const division = this.#state.divide(asking, this.#part, atMs);
    if (free <= 0 || division === null) return free;
    const wholeOf = (part: number): number => (unit === "tokens" ? part : whole(part));
    const scale = scaleOf(this.#shared, unit, { nowMs, inMs, held: heldHere });
    const usedBy = (name: string, counted: Counter): number =>
      scale * (usedOf(counted, unit, atMs) + holds(name));
    const used = usedBy(asking, childCounter);
    let keptFloors = 0;
    let keptClaims = 0;
    for (const { name, floor, claimed } of division.claims) {
      const other = this.#child(name);
      const usedByOther = other === undefined ? 0 : usedBy(name, other);
      keptFloors += Math.max(0, wholeOf(floor) - usedByOther);
      keptClaims += Math.max(0, wholeOf(claimed) - usedByOther);
    }
    const onFloor = wholeOf(division.floor) - used;
    const onOwn = Math.min(wholeOf(division.own) - used, free - keptFloors);
    return Math.min(free, Math.max(onFloor, onOwn, free - keptClaims));
  }

  #child(name: string): Counter | undefined {
    let child = this.#children.get(name);
    if (child === undefined && !this.#children.has(name)) {
      child = copyOfChild(this.#shared.counter, this.#shared.childCounter, name);
      this.#children.set(name, child);
    }
    return child;
  }
}

/** Whether a child without waiters has something left of its floors. */
export function hasFloorLeft(
  shared: SharedCounter,
  caps: readonly SharedPart[],
  nowMs: number,
): boolean {
  const state = sharedCapOf(shared);
  const name = sharerOf(shared);
  return (
    state !== undefined &&
    caps.length > 0 &&
    caps.every((part) => {
      const { unit, cap } = part;
      const held = heldOf(shared, part, null);
      const used = usedOf(shared.childCounter, unit, nowMs) + heldOf(shared, part, name);
      return state.isBelowFloor(name, scaleOf(shared, unit, { nowMs, inMs: 0, held }) * used, cap);
    })
  );
}

function copyOfChild(counter: Counter, ofChild: Counter, name: string): Counter | undefined {
  return ofChild.rule.children.copy(sharerName(counter.child, name));
}

export function sharedCapOf({ counter, childCounter }: SharedCounter): SharedCap | undefined {
  return childCounter.rule.sharing!.find(counter.child);
}

/**
 * How much more all hosts have counted than this one: a host knows only its own counts of each
 * child, and takes those of the others to be in the same proportion. 1 on one host. `held`: what
 * running requests hold here of a hard cap; that of other hosts is in their counts.
 */
function scaleOf(
  { counter }: Pick<SharedCounter, "counter">,
  unit: SharedUnit,
  { nowMs, inMs, held }: CountedAt & { readonly held: number },
): number {
  if (shareOf(counter) === null) return 1;
  const here = held + usedOf(counter, unit, nowMs + inMs);
  const all = held + usedOfAll(counter, unit, { nowMs, inMs });
  return here === 0 ? 1 : Math.max(1, all / here);
}

interface CountedAt {
  readonly nowMs: number;
  /** How long from then. */
  readonly inMs: number;
}

/** What this host has counted. */
function usedOf({ rule, window, inFlight }: Counter, unit: SharedUnit, nowMs: number): number {
  return unit === "slots" ? inFlight : estimated(window, rule.periodMs, unit, nowMs);
}

/** What all hosts have counted. */
function usedOfAll(counter: Counter, unit: SharedUnit, { nowMs, inMs }: CountedAt): number {
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
