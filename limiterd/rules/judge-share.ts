/**
 * Whether the shares of a cap refuse a child's request although the cap has room, because other
 * children may claim the room (`shared-cap.ts`). If ten children share 100 slots and one of them
 * has 90, it gets no more while the others may claim the last ten. Pure. If several hosts share a
 * cap, each host assumes that the use of all hosts is divided among the children as its own use is:
 * a child with 6 of this host's 10 requests has 60 of 100.
 */
import { type Counter, countsOf, shareOf } from "../counters/counter.js";
import { type DividedCap, type SharedCap, sharerName, wholeUnits } from "../counters/shared-cap.js";
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
  const used = usedOf(shared.childCounter, unit, nowMs);
  const isHard = unit === "tokens" && shared.counter.rule.definition.hold !== undefined;
  return isHard ? used + holdsOfChild(shared, sharerOf(shared)) : used;
}

/**
 * What running requests will still use of a cap on tokens: of all children, or of the one with this
 * name. Of a hard cap it is what they hold. Of any other cap only a request that waits counts it,
 * by their probable cost.
 */
function runningUse(shared: SharedCounter, { unit, request }: SharedPart, name?: string): number {
  if (unit !== "tokens") return 0;
  const { counter, childCounter } = shared;
  if (counter.rule.definition.hold === undefined) {
    if (request !== "waiting") return 0;
    const cap = childCounter.rule.sharing!.find(counter.child);
    return (name === undefined ? cap?.reservedByAll() : cap?.reservedBy(name)) ?? 0;
  }
  return name === undefined
    ? (counter.rule.held?.of(counter.child) ?? 0)
    : holdsOfChild(shared, name);
}

/** What running requests of a child hold of a hard cap. */
function holdsOfChild({ counter, childCounter }: SharedCounter, name: string): number {
  return childCounter.rule.held?.of(sharerName(counter.child, name)) ?? 0;
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
  if (room.admitsNow()) return 0;
  // Running requests may end at any time.
  if (unit === "slots" || room.admitsIdle(0)) return 1;
  // After two periods all windows are empty, and no child wants anything.
  let admitted = Math.ceil((2 * shared.counter.rule.periodMs) / 1000) + 1;
  let refused = 0;
  while (admitted - refused > 1) {
    const seconds = Math.floor((refused + admitted) / 2);
    if (room.admitsIdle(1000 * seconds)) admitted = seconds;
    else refused = seconds;
  }
  return admitted;
}

/**
 * How much of a hard cap's room a child's running request may get: all of it, unless other children
 * may claim a part. The request must hold nothing meanwhile.
 */
export function roomOfShare(shared: SharedCounter, cap: number, nowMs: number): number {
  const { counter } = shared;
  const state = sharedCapOf(shared);
  const part = { unit: "tokens", cap, request: "running" } as const;
  if (state !== undefined) return new Room(shared, state, part, nowMs).leftNow();
  return cap - usedOfAll(counter, "tokens", { nowMs, inMs: 0 }) - runningUse(shared, part);
}

/** A cap and its unit. */
interface SharedPart extends DividedCap {
  readonly unit: SharedUnit;
  /** What a request needs of a hard cap; absent: anything. */
  readonly need?: number | undefined;
}

/** How much the asking child may use of a cap, now and later. */
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

  /** Whether the child is admitted now, beside its cap's running requests. */
  admitsNow(): boolean {
    return this.#isEnough(this.leftNow());
  }

  /** Whether the child is admitted `inMs` from now if no request runs then. */
  admitsIdle(inMs: number): boolean {
    return this.#isEnough(this.#left(inMs, () => 0));
  }

  /** What the child may use now, beside its cap's running requests. */
  leftNow(): number {
    return this.#left(0, (name) => runningUse(this.#shared, this.#part, name));
  }

  #isEnough(left: number): boolean {
    const { unit, need } = this.#part;
    return unit === "tokens" && need === undefined ? left > 0 : left >= (need ?? 1);
  }

  /** `stillUsed`: what running requests will use, of a child or, without a name, of all. */
  #left(inMs: number, stillUsed: (name?: string) => number): number {
    const { unit, cap } = this.#part;
    const { counter, childCounter } = this.#shared;
    const asking = sharerOf(this.#shared);
    const nowMs = this.#nowMs;
    const thenMs = nowMs + inMs;
    const heldHere = stillUsed();
    const free = cap - usedOfAll(counter, unit, { nowMs, inMs }) - heldHere;
    const division = this.#state.divide(asking, this.#part, thenMs);
    if (free <= 0 || division === null) return free;
    const inUnits = (part: number): number => (unit === "tokens" ? part : wholeUnits(part));
    const scale = scaleOf(this.#shared, unit, { nowMs, inMs, held: heldHere });
    const usedBy = (name: string, counted: Counter): number =>
      scale * (usedOf(counted, unit, thenMs) + stillUsed(name));
    const used = usedBy(asking, childCounter);
    let keptFloors = 0;
    let keptClaims = 0;
    for (const { name, floor, claimed } of division.claims) {
      const claimant = this.#child(name);
      const usedByClaimant = claimant === undefined ? 0 : usedBy(name, claimant);
      keptFloors += Math.max(0, inUnits(floor) - usedByClaimant);
      keptClaims += Math.max(0, inUnits(claimed) - usedByClaimant);
    }
    // Up to its floor the child takes any room; up to its part, what the floors of others leave;
    // beyond, what others don't claim.
    const ofFloor = inUnits(division.floor) - used;
    const ofPart = Math.min(inUnits(division.part) - used, free - keptFloors);
    return Math.min(free, Math.max(ofFloor, ofPart, free - keptClaims));
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

/** Whether a child of which no request waits has something left of its floor in each cap. */
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
      const held = runningUse(shared, part);
      const used = usedOf(shared.childCounter, unit, nowMs) + runningUse(shared, part, name);
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
 * How many times as much all hosts have counted as this one, at least 1. A host knows only its own
 * counts of each child, and assumes that the other hosts' are in the same proportion. `held`: what
 * running requests hold on this host of a hard cap; the counts of other hosts include theirs.
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
  /** How long after `nowMs`. */
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
