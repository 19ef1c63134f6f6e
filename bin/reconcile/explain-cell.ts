/**
 * Explains why a cell's bill differs from our cost, by turning our cost into the bill's in steps:
 * what had no price gets one, prices become the bill's, quantities move to the bill's tiers and
 * regions, then the missing ones are added and the surplus removed. Each step has a cause. The
 * steps telescope, so their sum is the difference exactly, and no part of it has two causes. Pure.
 */
import { type Cause, causeNames } from "../../shared/api/bill-causes.js";
import { absolute, divideRounded, type Pico, worthOf } from "./amount.js";
import { type Group, groups, isTokens, type Kind, kindNames, kinds } from "./bill.js";
import type { ComparedCell, Part } from "./cells.js";
import { type ImpliedRates, rateOfDay } from "./implied-rates.js";

type CauseSums = Record<Cause, Pico>;

interface ExplainOptions {
  readonly rates: ImpliedRates;
  /** The most by which one line's amount may be rounded. */
  readonly lineTolerance: Pico;
}

/** By cause, the part of the difference that it explains. */
export function explainCell(cell: ComparedCell, options: ExplainOptions): CauseSums {
  const causes = noCauses();
  for (const group of groups) new GroupSteps(cell, group, { ...options, causes }).explain();
  causes.credits += cell.credit;
  causes.tool_fee += cell.tool;
  causes.unclassified += cell.other;
  // An amount without any quantity: nothing says why it differs.
  for (const { total } of cell.parts.values()) causes[causeOfTotal(cell)] += total;
  return causes;
}

export function noCauses(): CauseSums {
  return Object.fromEntries(causeNames.map((cause) => [cause, 0n])) as CauseSums;
}

function causeOfTotal({ hasUsage, parts }: ComparedCell): Cause {
  if (!hasUsage) return "past_sluice";
  return isUnpriced([...parts.values()]) ? "unpriced" : "unclassified";
}

/** Whether all that we recorded had no price. */
function isUnpriced(parts: readonly Part[]): boolean {
  return (
    parts.some(({ unpriced }) => unpriced.size > 0) &&
    parts.every(({ costs }) => groups.every((group) => costs[group] === 0n))
  );
}

/** A part's quantities on their way from ours to the bill's, and what they are worth so far. */
interface Conversion {
  readonly part: Part;
  readonly quantities: Map<Kind, bigint>;
  worth: Pico;
  /** Whether its quantities are worth what the bill's rates say. */
  hasBillRates: boolean;
}

/** The steps for one group of kinds in a cell. */
class GroupSteps {
  readonly #cell: ComparedCell;
  readonly #group: Group;
  readonly #kinds: readonly Kind[];
  readonly #parts: readonly Part[];
  readonly #conversions: readonly Conversion[];
  readonly #rates: ImpliedRates;
  /** Differences up to it are rounding. */
  readonly #tolerance: Pico;
  readonly #causes: CauseSums;
  readonly #hasQuantities: boolean;
  readonly #hasAmounts: boolean;

  constructor(
    cell: ComparedCell,
    group: Group,
    { rates, lineTolerance, causes }: ExplainOptions & { readonly causes: CauseSums },
  ) {
    const parts = [...cell.parts.values()];
    const ofGroup = kindNames.filter((kind) => kinds[kind].group === group);
    this.#cell = cell;
    this.#group = group;
    this.#kinds = ofGroup;
    this.#parts = parts;
    this.#conversions = parts.map((part) => ({
      part,
      quantities: new Map(part.recorded),
      worth: part.costs[group],
      hasBillRates: false,
    }));
    this.#rates = rates;
    this.#causes = causes;
    this.#hasQuantities = parts.some(({ billed }) => ofGroup.some((kind) => billed.has(kind)));
    this.#hasAmounts = parts.some(({ amounts }) => ofGroup.some((kind) => amounts.has(kind)));
    const lines = this.#hasAmounts ? parts.reduce((sum, part) => sum + part.lines, 0) : 0;
    this.#tolerance = lineTolerance * BigInt(Math.max(1, lines));
  }

  explain(): void {
    if (this.#hasQuantities && this.#hasAmounts) {
      for (const conversion of this.#conversions) {
        this.#addPrices(conversion);
        this.#useBillRates(conversion);
      }
      this.#moveTiers();
      this.#changeQuantities();
    }
    const rest = this.#billedAmount() - this.#worth();
    if (rest !== 0n) this.#causes[this.#causeOfRest(rest)] += rest;
  }

  #billedAmount(): Pico {
    let sum = 0n;
    for (const { amounts } of this.#parts)
      for (const kind of this.#kinds) sum += amounts.get(kind) ?? 0n;
    return sum;
  }

  #worth(): Pico {
    return this.#conversions.reduce((sum, { worth }) => sum + worth, 0n);
  }

  /** Gives quantities without a price the bill's. */
  #addPrices(conversion: Conversion): void {
    const { part } = conversion;
    for (const kind of this.#kinds) {
      const quantity = part.unpriced.get(kind) ?? 0n;
      const rate = rateOfDay(part, kind) ?? this.#rates.find(this.#cell.model, part, kind);
      if (quantity === 0n || rate === undefined) continue;
      const worth = worthOf(quantity, rate);
      this.#causes.unpriced += worth;
      conversion.worth += worth;
    }
  }

  /** Our quantities at the bill's rates, if it has one for each. */
  #useBillRates(conversion: Conversion): void {
    const { part } = conversion;
    const recordedKinds = this.#kinds.filter((kind) => (part.recorded.get(kind) ?? 0n) !== 0n);
    if (recordedKinds.length === 0) return;
    let worth = 0n;
    for (const kind of recordedKinds) {
      const rate = rateOfDay(part, kind);
      if (rate === null) return;
      worth += worthOf(part.recorded.get(kind)!, rate);
    }
    const change = worth - conversion.worth;
    this.#causes[this.#causeOfPrice(change)] += change;
    conversion.worth = worth;
    conversion.hasBillRates = true;
  }

  #causeOfPrice(change: Pico): Cause {
    if (absolute(change) <= this.#tolerance) return "rounding";
    return this.#group === "tools" ? "tool_fee" : "stale_price";
  }

  /** Moves quantities to the tiers and regions in which the bill has them. */
  #moveTiers(): void {
    for (const kind of this.#kinds)
      for (const from of this.#conversions)
        for (const to of this.#conversions) {
          const rate = rateOfDay(to.part, kind);
          const moved = smaller(surplusOf(from, kind), -surplusOf(to, kind));
          if (from === to || rate === null || moved <= 0n) continue;
          const before = this.#worthOf(moved, kind, from);
          const after = worthOf(moved, rate);
          addQuantity(from, kind, -moved);
          addQuantity(to, kind, moved);
          from.worth -= before;
          to.worth += after;
          this.#causes[causeOfMove(from.part, to.part)] += after - before;
        }
  }

  /**
   * The part of a conversion's worth that belongs to a quantity: by the bill's rates, if it has
   * them. Otherwise the worth is divided in the proportion of the rates, in millionths; a kind
   * without a rate weighs 1 pico-dollar, so that none weighs 0.
   */
  #worthOf(quantity: bigint, kind: Kind, conversion: Conversion): Pico {
    const { part, quantities, worth, hasBillRates } = conversion;
    const rate = rateOfDay(part, kind);
    if (hasBillRates && rate !== null) return worthOf(quantity, rate);
    let weightOfAll = 0n;
    for (const other of this.#kinds)
      weightOfAll += absolute(quantities.get(other) ?? 0n) * weightOf(part, other);
    return weightOfAll === 0n
      ? 0n
      : divideRounded(worth * quantity * weightOf(part, kind), weightOfAll);
  }

  /** Adds missing quantities and removes surplus ones. */
  #changeQuantities(): void {
    const { missing, surplus } = this.#imbalance();
    // As many tokens of one kind are missing as another has too many: recorded as the wrong kind.
    const swapped = smaller(missing, surplus);
    const unrecorded = unrecordedShare(this.#cell);
    const limits: CauseLimits = {
      estimateRoom: sumOf(this.#parts, (part) => part.estimateRoom),
      estimated: 0n,
      unrecorded: 0n,
    };
    for (const kind of this.#kinds) {
      const billed = sumOf(this.#parts, (part) => part.billed.get(kind) ?? 0n);
      limits.estimated = sumOf(this.#parts, (part) => part.estimated.get(kind) ?? 0n);
      limits.unrecorded =
        unrecorded === null ? 0n : (billed * unrecorded.missing) / unrecorded.billed;
      for (const conversion of this.#conversions) {
        const excess = surplusOf(conversion, kind);
        if (excess < 0n) {
          const swappedPart = (-excess * swapped) / missing;
          this.#addMissing(conversion, { kind, quantity: -excess, swapped: swappedPart }, limits);
        } else if (excess > 0n) {
          const swappedPart = (excess * swapped) / surplus;
          this.#removeSurplus(conversion, { kind, quantity: excess, swapped: swappedPart }, limits);
        }
      }
    }
  }

  /** How much is missing in all, and how much is too much. */
  #imbalance(): { readonly missing: bigint; readonly surplus: bigint } {
    let missing = 0n;
    let surplus = 0n;
    for (const conversion of this.#conversions)
      for (const kind of this.#kinds) {
        const excess = surplusOf(conversion, kind);
        if (excess > 0n) surplus += excess;
        else missing -= excess;
      }
    return { missing, surplus };
  }

  /** Adds what the bill has and we don't, at the bill's rate. */
  #addMissing(
    conversion: Conversion,
    { kind, quantity, swapped }: Change,
    limits: CauseLimits,
  ): void {
    const { part } = conversion;
    const split = new Split(quantity);
    if (this.#group === "tools") split.takeRest("tool_fee");
    else if (part.tier === "batch") split.takeRest("batch");
    else {
      split.take("tokens_not_read", swapped);
      limits.unrecorded -= split.take("past_sluice", limits.unrecorded);
      if (isTokens(kind)) {
        const estimated = split.take("estimated", larger(limits.estimated, limits.estimateRoom));
        limits.estimateRoom -= estimated;
        limits.estimated -= estimated;
      }
      split.takeRest("tokens_not_read");
    }
    const rate = rateOfDay(part, kind);
    const worth = rate === null ? 0n : worthOf(quantity, rate);
    this.#attribute(split, worth);
    conversion.worth += worth;
    addQuantity(conversion, kind, quantity);
  }

  /** Removes what we have and the bill doesn't, at what it was worth. */
  #removeSurplus(
    conversion: Conversion,
    { kind, quantity, swapped }: Change,
    limits: CauseLimits,
  ): void {
    const split = new Split(quantity);
    if (this.#group === "tools") split.takeRest("tool_fee");
    else {
      split.take("tokens_not_read", swapped);
      limits.estimated -= split.take("estimated", limits.estimated);
      split.takeRest("not_billed");
    }
    const worth = this.#worthOf(quantity, kind, conversion);
    this.#attribute(split, -worth);
    conversion.worth -= worth;
    addQuantity(conversion, kind, -quantity);
  }

  /** Adds the worth of each piece to its cause, rounded so that the pieces add up to `worth`. */
  #attribute({ quantity, pieces }: Split, worth: Pico): void {
    let quantitySoFar = 0n;
    let worthSoFar = 0n;
    for (const piece of pieces) {
      quantitySoFar += piece.quantity;
      const upTo = divideRounded(worth * quantitySoFar, quantity);
      this.#causes[piece.cause] += upTo - worthSoFar;
      worthSoFar = upTo;
    }
  }

  /** Why the amounts still differ after all steps. */
  #causeOfRest(rest: Pico): Cause {
    if (absolute(rest) <= this.#tolerance && this.#hasAmounts) return "rounding";
    if (this.#group === "tools") return "tool_fee";
    const isUnrecorded = rest > 0n && this.#recordedNothing();
    if (isUnrecorded && this.#hasBatchAmounts()) return "batch";
    if (isUnrecorded && !this.#cell.hasUsage) return "past_sluice";
    if (!this.#hasAmounts && !this.#cell.hasBill) return "not_billed";
    if (!this.#hasQuantities) return isUnpriced(this.#parts) ? "unpriced" : "unclassified";
    return this.#hasAmounts && this.#quantitiesDiffer() ? "tokens_not_read" : "unclassified";
  }

  #recordedNothing(): boolean {
    return this.#parts.every(
      ({ recorded, costs }) =>
        costs[this.#group] === 0n && this.#kinds.every((kind) => (recorded.get(kind) ?? 0n) === 0n),
    );
  }

  #hasBatchAmounts(): boolean {
    return this.#parts.some(
      ({ tier, amounts }) => tier === "batch" && this.#kinds.some((kind) => amounts.has(kind)),
    );
  }

  #quantitiesDiffer(): boolean {
    return this.#parts.some(({ recorded, billed }) =>
      this.#kinds.some((kind) => (recorded.get(kind) ?? 0n) !== (billed.get(kind) ?? 0n)),
    );
  }
}

/** A quantity of a kind that is missing or too much; `swapped` of it was recorded as another. */
interface Change {
  readonly kind: Kind;
  readonly quantity: bigint;
  readonly swapped: bigint;
}

/** How much more of a quantity a cause may explain. */
interface CauseLimits {
  /** Tokens by which our estimates may be too low, of all kinds. */
  estimateRoom: bigint;
  /** Estimated quantities of the kind. */
  estimated: bigint;
  /** Of the kind, what passed without our recording it. */
  unrecorded: bigint;
}

/** Divides a quantity among causes: each takes of what the earlier ones have left. */
class Split {
  readonly quantity: bigint;
  readonly pieces: { readonly cause: Cause; readonly quantity: bigint }[] = [];
  #left: bigint;

  constructor(quantity: bigint) {
    this.quantity = quantity;
    this.#left = quantity;
  }

  /** Returns how much the cause has taken. */
  take(cause: Cause, quantityMax: bigint): bigint {
    const quantity = smaller(this.#left, larger(quantityMax, 0n));
    if (quantity > 0n) this.pieces.push({ cause, quantity });
    this.#left -= quantity;
    return quantity;
  }

  takeRest(cause: Cause): void {
    this.take(cause, this.#left);
  }
}

/** How much more of a kind we have than the bill; negative if the bill has more. */
function surplusOf({ quantities, part }: Conversion, kind: Kind): bigint {
  return (quantities.get(kind) ?? 0n) - (part.billed.get(kind) ?? 0n);
}

function addQuantity({ quantities }: Conversion, kind: Kind, quantity: bigint): void {
  quantities.set(kind, (quantities.get(kind) ?? 0n) + quantity);
}

function weightOf(part: Part, kind: Kind): bigint {
  const rate = rateOfDay(part, kind);
  return rate === null ? 1_000_000n : (rate.amount * 1_000_000n) / rate.quantity + 1n;
}

function causeOfMove(from: Part, to: Part): Cause {
  if (from.tier === to.tier) return "region";
  return to.tier === "batch" ? "batch" : "tier";
}

interface UnrecordedShare {
  readonly missing: bigint;
  readonly billed: bigint;
}

/**
 * The share of the billed traffic that we have no records of: by requests if the bill counts them,
 * else the smaller of the shares that input and output miss. Null: none.
 */
function unrecordedShare({ parts, hasUsage }: ComparedCell): UnrecordedShare | null {
  if (!hasUsage) return { missing: 1n, billed: 1n };
  const all = [...parts.values()];
  // What Sluice doesn't record of batches has a cause of its own.
  const withoutBatches = all.filter(({ tier }) => tier !== "batch");
  const withRequests = withoutBatches.filter(({ billedRequests }) => billedRequests !== null);
  if (withRequests.length > 0) {
    const billed = withRequests.reduce((sum, part) => sum + part.billedRequests!, 0);
    const sent = all.reduce((sum, part) => sum + part.recordedRequests + part.lostRequests, 0);
    return billed > sent ? { missing: BigInt(billed - sent), billed: BigInt(billed) } : null;
  }
  let least: UnrecordedShare | null = null;
  for (const group of ["input", "output"] as const) {
    const recorded = sumOf(withoutBatches, (part) => quantityOf(part.recorded, group));
    const billed = sumOf(withoutBatches, (part) => quantityOf(part.billed, group));
    if (billed === 0n) continue;
    if (billed <= recorded) return null;
    const share = { missing: billed - recorded, billed };
    if (least === null || share.missing * least.billed < least.missing * share.billed)
      least = share;
  }
  return least;
}

function quantityOf(quantities: ReadonlyMap<Kind, bigint>, group: Group): bigint {
  let sum = 0n;
  for (const [kind, quantity] of quantities) if (kinds[kind].group === group) sum += quantity;
  return sum;
}

function sumOf(parts: readonly Part[], quantity: (part: Part) => bigint): bigint {
  return parts.reduce((sum, part) => sum + quantity(part), 0n);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
