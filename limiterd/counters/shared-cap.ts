/**
 * A cap that children of a path share (docs/limit-options.md, "Shares of a limit"): who wants it,
 * what each may have of it, how much service each has received, and who of those that wait is next.
 * Pure; the clock is an argument. Not here: the windows that count what each child uses
 * (`Rule.tenants`), and the refusal (`judge-share.ts`).
 */
import {
  type ChildShare,
  type ChildShares,
  isSameShares,
  minShareDefault,
  shareOfChild,
} from "../../shared/domain/child-shares.js";
import { sharedCapsMax, sharersMax } from "../bounds.js";

/** The name of the path itself among its children; no segment of a path has it. */
export const pathItself = ".";

/** For rules without a window: how long a child wants slots after it has asked for one. */
export const slotWantMs = 10_000;

/** The cost of a request before any has ended. */
const firstCost = 1;

/** A child that wants the cap, or did. */
interface Sharer {
  readonly name: string;
  askedMs: number;
  /** When the cap, or what other children may claim of it, last refused a request of the child. */
  refusedMs: number;
  /** Tokens, pico-dollars or requests, divided by its weight. */
  service: number;
  /** The moving average of what its requests cost; null before the first. */
  meanCost: number | null;
}

interface SharedCapPorts {
  readonly shares: () => ChildShares;
  /** How long a child wants the cap after it has asked. */
  readonly wantMs: number;
  /** The child's requests in flight; null: those of all children. */
  readonly running: (name: string | null) => number;
  /** What the child's requests in flight hold of a hard cap; 0 of any other. */
  readonly held: (name: string) => number;
  /** Whether service is counted in requests, when they begin, instead of in tokens or cost. */
  readonly countsRequests: () => boolean;
}

/** A child with what it may claim, in units of the cap. */
interface Claim {
  readonly name: string;
  readonly floor: number;
  /** What is kept for it: its floor, or its whole part after a refusal. */
  readonly claimed: number;
}

export interface DividedCap {
  readonly cap: number;
  /**
   * The asking request. For one that waits or can wait, the order of waiting requests decides
   * instead of the weights. Against one that runs already and asks for more of a hard cap, children
   * with waiting requests claim their parts, too.
   */
  readonly request: "new" | "waiting" | "running";
}

/** How a cap is divided at a moment. */
interface Division {
  /** Up to its floor, the asking child is admitted if the cap has room. */
  readonly floor: number;
  /** Up to its part, only the floors of other children are kept for them. */
  readonly part: number;
  /** What is kept for other children. */
  readonly claims: readonly Claim[];
}

export class SharedCap {
  readonly #ports: SharedCapPorts;
  readonly #sharers = new Map<string, Sharer>();
  readonly #waiting = new Set<Sharer>();
  /** The most service of any child. */
  #most = 0;
  /** The moving average of what requests of all children cost; null before the first. */
  #meanCost: number | null = null;
  /** The last refusal of any child. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  /** Whether only a share caused the last refusal, so that other children may be admitted. */
  isLastRefusalByShare = false;
  #prunedMs = Number.NEGATIVE_INFINITY;
  /** The service that waiting children of lower priorities have been passed over for. */
  #owedToLower = 0;
  #readShares: ChildShares | null = null;
  #floorsExist = false;

  constructor(ports: SharedCapPorts) {
    this.#ports = ports;
  }

  /** Whether no child wants the cap, so that nothing needs to be remembered. */
  isIdle(nowMs: number): boolean {
    for (const sharer of this.#sharers.values())
      if (this.#wants(sharer, nowMs) || this.#isActive(sharer)) return false;
    return true;
  }

  /** Notes that a child asks for a part of the cap. */
  noteRequest(name: string, nowMs: number): void {
    const sharer = this.#sharer(name, nowMs);
    if (sharer !== undefined) sharer.askedMs = nowMs;
  }

  /** Notes that a child asks for a part of the cap, doesn't get it, and doesn't wait. */
  noteRefusal(name: string, nowMs: number): void {
    const sharer = this.#sharer(name, nowMs);
    if (sharer === undefined) return;
    sharer.askedMs = nowMs;
    sharer.refusedMs = nowMs;
    this.#refusedMs = nowMs;
  }

  /**
   * Call before a child asks. If none of its requests waits, it starts at the least service of the
   * children that wait, so that its absence gives it no credit; if none wait, at the most service
   * of all, so that no child has a debt.
   */
  dropCredit(name: string, nowMs: number): void {
    const sharer = this.#sharer(name, nowMs);
    // Other shares change the services that are compared below.
    this.#currentShares();
    if (sharer === undefined || this.#waiting.has(sharer)) return;
    sharer.service += Math.max(0, this.#startService() - this.#serviceOf(sharer));
  }

  /** Adds what a request of the child has used; until it ends, its probable cost is reserved. */
  charge(name: string, amount: number): void {
    const sharer = this.#sharers.get(name);
    if (sharer === undefined) return;
    sharer.service += amount / this.#shareOf(name).weight;
    this.#most = Math.max(this.#most, sharer.service);
    // What is taken back was no request's cost.
    if (amount <= 0) return;
    sharer.meanCost = movedMean(sharer.meanCost, amount);
    this.#meanCost = movedMean(this.#meanCost, amount);
  }

  /** The weighted service of a child, with what its requests in flight will probably cost. */
  serviceOf(name: string): number {
    const sharer = this.#sharers.get(name);
    return sharer === undefined ? 0 : this.#serviceOf(sharer);
  }

  /** What the requests in flight of a child will probably cost. */
  reservedBy(name: string): number {
    const sharer = this.#sharers.get(name);
    return sharer === undefined ? 0 : this.#reservedBy(sharer);
  }

  /** As `reservedBy`, of all children. */
  reservedByAll(): number {
    if (this.#ports.countsRequests()) return 0;
    // Some may run for children that haven't asked since the daemon's start, or since there are
    // shares.
    let unknown = this.#ports.running(null);
    let sum = 0;
    for (const sharer of this.#sharers.values()) {
      unknown -= this.#ports.running(sharer.name);
      sum += this.#reservedBy(sharer);
    }
    return sum + unknown * this.#costOf(undefined);
  }

  /** How a cap is divided when a child asks; null: nothing is kept for others. */
  divide(name: string, { cap, request }: DividedCap, nowMs: number): Division | null {
    const shares = this.#currentShares();
    const isRunning = request === "running";
    const isContended =
      this.#isRecent(this.#refusedMs, nowMs) || (isRunning && this.#waiting.size > 0);
    if (!isContended && !this.#floorsExist) return null;
    const byWeight = isContended && request !== "waiting";
    const sharers: Contender[] = [{ name, ...this.#shareOf(name), wantsMore: true }];
    for (const sharer of this.#sharers.values()) {
      if (sharer.name === name || !this.#wants(sharer, nowMs)) continue;
      const wantsMore =
        byWeight &&
        (this.#isRecent(sharer.refusedMs, nowMs) || (isRunning && this.#waiting.has(sharer)));
      sharers.push({ name: sharer.name, ...this.#shareOf(sharer.name), wantsMore });
    }
    const parts = byWeight
      ? entitlements(cap, sharers, shares.min_share ?? minShareDefault)
      : sharers.map(({ floor }) => floor * cap);
    const claims = sharers.flatMap(({ name: other, floor, wantsMore }, i): Claim[] => {
      const claimed = wantsMore ? parts[i]! : floor * cap;
      return i === 0 || claimed === 0 ? [] : [{ name: other, floor: floor * cap, claimed }];
    });
    if (claims.length === 0) return null;
    return { floor: sharers[0]!.floor * cap, part: parts[0]!, claims };
  }

  /** What a child may have of the cap if all that want it now want as much as they can get. */
  shareNow(
    name: string,
    cap: number,
    nowMs: number,
  ): Required<ChildShare> & { readonly part: number; readonly weights: number } {
    const wanting = [...this.#sharers.values()].filter(
      (sharer) => sharer.name !== name && this.#wants(sharer, nowMs),
    );
    const contenders = [{ name }, ...wanting].map((child) => ({
      name: child.name,
      ...this.#shareOf(child.name),
      wantsMore: true,
    }));
    const minShare = this.#ports.shares().min_share ?? minShareDefault;
    return {
      ...this.#shareOf(name),
      part: entitlements(cap, contenders, minShare)[0]!,
      weights: sumOf(contenders, ({ weight }) => weight),
    };
  }

  /** Call when the first request of the child waits. */
  startWaiting(name: string): void {
    const sharer = this.#sharer(name);
    if (sharer !== undefined) this.#waiting.add(sharer);
  }

  isWaiting(name: string): boolean {
    const sharer = this.#sharers.get(name);
    return sharer !== undefined && this.#waiting.has(sharer);
  }

  /** Call when no request of the child waits any more. */
  stopWaiting(name: string): void {
    const sharer = this.#sharers.get(name);
    if (sharer !== undefined) this.#waiting.delete(sharer);
  }

  /**
   * The waiting children, the next one first: those of the highest priority by least service. The
   * others come first once they have been passed over for their minimum.
   */
  *waitingInOrder(): Generator<string, void> {
    const waiting = this.#viewsOfWaiting();
    const top = highest(waiting);
    const isLowerFirst = waiting.some(
      ({ priority, cost }) => priority < top && this.#owedToLower >= cost,
    );
    const compare = (a: WaitingSharer, b: WaitingSharer): number => {
      const isTop = a.priority === top;
      if (isTop !== (b.priority === top)) return isTop === isLowerFirst ? 1 : -1;
      return a.service - b.service || (a.name < b.name ? -1 : 1);
    };
    let first: WaitingSharer | null = null;
    for (const sharer of waiting) if (first === null || compare(sharer, first) < 0) first = sharer;
    if (first === null) return;
    yield first.name;
    // Sorted only if the caller needs more than the first: there may be a thousand.
    for (const sharer of waiting.toSorted(compare)) if (sharer !== first) yield sharer.name;
  }

  /**
   * How many requests of the waiting child `other` come before request `index` (from 1) of the
   * child `name`; undefined if the cap doesn't remember `other`.
   */
  countAhead(name: string, index: number, other: string): number | undefined {
    const otherSharer = this.#sharers.get(other);
    if (otherSharer === undefined) return undefined;
    const sharer = this.#sharers.get(name);
    const [share, otherShare] = [this.#shareOf(name), this.#shareOf(other)];
    if (share.priority !== otherShare.priority)
      return share.priority < otherShare.priority ? Number.POSITIVE_INFINITY : 0;
    const countsRequests = this.#ports.countsRequests();
    const costOf = (of: Sharer | undefined): number => (countsRequests ? 1 : this.#costOf(of));
    const service = sharer === undefined ? 0 : this.#serviceOf(sharer);
    const isWaiting = sharer !== undefined && this.#waiting.has(sharer);
    const firstService = isWaiting ? service : Math.max(service, this.#startService());
    const turnService = firstService + ((index - 1) * costOf(sharer)) / share.weight;
    const lead = turnService - this.#serviceOf(otherSharer);
    return Math.max(0, Math.ceil((lead * otherShare.weight) / costOf(otherSharer)));
  }

  /** Call when a waiting request of the child is admitted, before its slot is taken. */
  noteAdmitted(name: string): void {
    const sharer = this.#sharers.get(name);
    const waiting = this.#viewsOfWaiting();
    const top = highest(waiting);
    const hasLower = waiting.some(({ priority }) => priority < top);
    if (sharer === undefined || !hasLower) {
      this.#owedToLower = 0;
      return;
    }
    const minShare = this.#ports.shares().min_share ?? minShareDefault;
    const cost = this.#costOf(sharer);
    if (this.#shareOf(name).priority < top) this.#owedToLower -= cost;
    else this.#owedToLower += (cost * minShare) / (1 - minShare);
  }

  /** Whether a child that doesn't wait and has used this much has at least 1 left of its floor. */
  isBelowFloor(name: string, used: number, cap: number): boolean {
    const sharer = this.#sharers.get(name);
    return (
      (sharer === undefined || !this.#waiting.has(sharer)) &&
      used + 1 <= wholeUnits(this.#shareOf(name).floor * cap)
    );
  }

  /**
   * The shares now. After a change all children start at the same service, so that none has a debt
   * from the former shares.
   */
  #currentShares(): ChildShares {
    const shares = this.#ports.shares();
    const before = this.#readShares;
    if (shares === before) return shares;
    this.#readShares = shares;
    this.#floorsExist = hasFloors(shares);
    if (before !== null && !isSameShares({ childShares: before }, { childShares: shares }))
      for (const sharer of this.#sharers.values()) sharer.service = this.#most;
    return shares;
  }

  #viewsOfWaiting(): readonly WaitingSharer[] {
    const views: WaitingSharer[] = [];
    for (const sharer of this.#waiting)
      views.push({
        name: sharer.name,
        priority: this.#shareOf(sharer.name).priority,
        service: this.#serviceOf(sharer),
        cost: this.#costOf(sharer),
      });
    return views;
  }

  #serviceOf(sharer: Sharer): number {
    return sharer.service + this.#reservedBy(sharer) / this.#shareOf(sharer.name).weight;
  }

  /** 0 if service is counted in requests, which are counted when they begin. */
  #reservedBy(sharer: Sharer): number {
    if (this.#ports.countsRequests()) return 0;
    const running = this.#ports.running(sharer.name);
    return running === 0
      ? 0
      : Math.max(this.#ports.held(sharer.name), running * this.#costOf(sharer));
  }

  /** What a request of the child will probably cost. */
  #costOf(sharer: Sharer | undefined): number {
    return sharer?.meanCost ?? this.#meanCost ?? firstCost;
  }

  /** The service at which a new or returning child starts. */
  #startService(): number {
    if (this.#waiting.size === 0) return this.#most;
    let least = Number.POSITIVE_INFINITY;
    for (const sharer of this.#waiting) least = Math.min(least, this.#serviceOf(sharer));
    return least;
  }

  #isActive(sharer: Sharer): boolean {
    return this.#waiting.has(sharer) || this.#ports.running(sharer.name) > 0;
  }

  #wants(sharer: Sharer, nowMs: number): boolean {
    return this.#waiting.has(sharer) || this.#isRecent(sharer.askedMs, nowMs);
  }

  /** Compares the distance, because the clock may have been set back. */
  #isRecent(atMs: number, nowMs: number): boolean {
    return Math.abs(nowMs - atMs) < this.#ports.wantMs;
  }

  #shareOf(name: string): Required<ChildShare> {
    return shareOfChild(this.#ports.shares(), name);
  }

  /**
   * Finds or adds a child; undefined at the bound of sharers. With `nowMs`, children that no longer
   * want the cap make room.
   */
  #sharer(name: string, nowMs?: number): Sharer | undefined {
    const existing = this.#sharers.get(name);
    if (existing !== undefined) return existing;
    if (this.#sharers.size >= sharersMax && nowMs !== undefined) this.#prune(nowMs);
    if (this.#sharers.size >= sharersMax) return undefined;
    const sharer: Sharer = {
      name,
      askedMs: Number.NEGATIVE_INFINITY,
      refusedMs: Number.NEGATIVE_INFINITY,
      service: this.#startService(),
      meanCost: null,
    };
    this.#sharers.set(name, sharer);
    return sharer;
  }

  #prune(nowMs: number): void {
    if (nowMs === this.#prunedMs) return;
    this.#prunedMs = nowMs;
    for (const sharer of this.#sharers.values())
      if (!this.#wants(sharer, nowMs) && !this.#isActive(sharer)) this.#sharers.delete(sharer.name);
  }
}

/** The weight of the last request in a moving mean: the last ten make up nine tenths of it. */
const lastWeight = 0.2;

function movedMean(mean: number | null, amount: number): number {
  return mean === null ? amount : (1 - lastWeight) * mean + lastWeight * amount;
}

interface WaitingSharer {
  readonly name: string;
  readonly priority: number;
  readonly service: number;
  /** What its requests cost on average. */
  readonly cost: number;
}

interface Contender extends Required<ChildShare> {
  readonly name: string;
  /** Whether it wants more than it gets. */
  readonly wantsMore: boolean;
}

/**
 * What each of the contenders may have of a cap; the sum is the cap. Let the top priority be the
 * highest of a contender that wants more than it gets. Contenders below it get their floors, and
 * divide `minShare` of what all floors leave by weight. The others divide the rest by weight, and
 * none gets less than its floor.
 */
export function entitlements(
  cap: number,
  contenders: readonly Contender[],
  minShare: number,
): readonly number[] {
  let top = Number.NEGATIVE_INFINITY;
  for (const { wantsMore, priority } of contenders) if (wantsMore && priority > top) top = priority;
  const lower = contenders.filter(({ priority }) => priority < top);
  const unreserved = Math.max(0, 1 - sumOf(contenders, ({ floor }) => floor));
  const lowerWeight = sumOf(lower, ({ weight }) => weight);
  const least = ({ floor, weight }: Contender): number =>
    cap * (floor + (unreserved * minShare * weight) / lowerWeight);
  const rest = cap - sumOf(lower, least);
  const upper = contenders.filter(({ priority }) => priority >= top);
  const level = waterLevel(rest, cap, upper);
  return contenders.map((contender) =>
    contender.priority < top
      ? least(contender)
      : Math.max(contender.floor * cap, level * contender.weight),
  );
}

/** The part per unit of weight at which all parts, none below its floor, add up to `total`. */
function waterLevel(total: number, cap: number, contenders: readonly Contender[]): number {
  let open = contenders;
  let rest = total;
  for (;;) {
    const level = Math.max(0, rest) / sumOf(open, ({ weight }) => weight);
    const stays = open.filter(({ floor, weight }) => floor * cap <= level * weight);
    if (stays.length === open.length || stays.length === 0) return level;
    rest -= sumOf(open, ({ floor, weight }) => (floor * cap <= level * weight ? 0 : floor * cap));
    open = stays;
  }
}

function sumOf(
  contenders: readonly Contender[],
  amountOf: (contender: Contender) => number,
): number {
  let sum = 0;
  for (const contender of contenders) sum += amountOf(contender);
  return sum;
}

function highest(waiting: readonly { readonly priority: number }[]): number {
  return waiting.reduce((most, { priority }) => Math.max(most, priority), Number.NEGATIVE_INFINITY);
}

function hasFloors({ children }: ChildShares): boolean {
  for (const name in children) if ((children[name]!.floor ?? 0) > 0) return true;
  return false;
}

/** Rounds down to whole requests or slots, although 0.29 × 100 isn't quite 29. */
export function wholeUnits(part: number): number {
  return Math.floor(part + 1e-9);
}

interface SharedCapsPorts extends Omit<SharedCapPorts, "running"> {
  /** The requests in flight of a child, by its name among all of them. */
  readonly running: (name: string) => number;
  /** Those below the rule's own counter (empty) or a child's. */
  readonly runningIn: (child: string) => number;
}

/** The caps that children share: that of a rule, or that of each child of a template. */
export class SharedCaps {
  readonly #ports: SharedCapsPorts;
  readonly #caps = new Map<string, SharedCap>();

  /** The ports get names of children with those of their caps (`sharerName`). */
  constructor(ports: SharedCapsPorts) {
    this.#ports = ports;
  }

  /** The cap of a rule's own counter (empty) or a child's; undefined before its first request. */
  find(child: string): SharedCap | undefined {
    return this.#caps.get(child);
  }

  /**
   * As `find`, but makes the cap; undefined at the bound. With `nowMs`, caps that no child wants
   * make room.
   */
  findOrMake(child: string, nowMs?: number): SharedCap | undefined {
    const existing = this.#caps.get(child);
    if (existing !== undefined) return existing;
    if (this.#caps.size >= sharedCapsMax && nowMs !== undefined)
      for (const [name, cap] of this.#caps) if (cap.isIdle(nowMs)) this.#caps.delete(name);
    if (this.#caps.size >= sharedCapsMax) return undefined;
    const { running, runningIn, held } = this.#ports;
    const cap = new SharedCap({
      ...this.#ports,
      running: (name) => (name === null ? runningIn(child) : running(sharerName(child, name))),
      held: (name) => held(sharerName(child, name)),
    });
    this.#caps.set(child, cap);
    return cap;
  }

  /** Adds admitted requests of a child (`sharerName`); −1 takes one back. */
  addRequests(child: string, requests: number): void {
    if (this.#ports.countsRequests()) this.#charge(child, requests);
  }

  /** As `addRequests`, for tokens or cost at a settle. */
  addUse(child: string, amount: number): void {
    if (!this.#ports.countsRequests()) this.#charge(child, amount);
  }

  #charge(child: string, amount: number): void {
    const slash = child.indexOf("/");
    const cap = this.#caps.get(child.slice(0, Math.max(0, slash)));
    cap?.charge(child.slice(slash + 1), amount);
  }
}

/** What a child has of a cap before its first request. */
export function shareOfNewCap(
  shares: ChildShares,
  name: string,
  cap: number,
): ReturnType<SharedCap["shareNow"]> {
  const share = shareOfChild(shares, name);
  return { ...share, part: cap, weights: share.weight };
}

/** The name of a child below a shared counter: the counter's child, if it has one, comes first. */
export function sharerName(child: string, name: string): string {
  return child === "" ? name : `${child}/${name}`;
}
