/**
 * Compares our usage with a bill, by UTC day, project and model (a `Cell`), and within a cell by
 * service tier and region (a `Part`). Quantities come first, then the rate that the bill implies,
 * then the cause of each difference. Pure.
 *
 * A difference is explained by turning our cost into the bill's in steps: what had no price gets
 * one, prices become the bill's, quantities move to the bill's tiers and regions, then the missing
 * ones are added and the surplus removed. Each step has a cause. The steps telescope, so their sum
 * is the difference exactly, and no part of it has two causes.
 */

import { type Cause, causeNames } from "../../shared/api/bill-causes.js";
import { absolute, divideRounded, type Pico, type Rate, worthOf } from "./amount.js";
import {
  type Bill,
  type BillRow,
  type Group,
  groups,
  isTokens,
  type Kind,
  kindNames,
  kinds,
  kindWithin,
} from "./bill.js";
import { joinModels } from "./model-names.js";
import type { UsageRow } from "./our-usage.js";

/** A quantity on both sides. */
export interface Count {
  readonly tier: string;
  readonly region: string;
  readonly kind: Kind | "requests";
  readonly recorded: number;
  /** Null: the bill doesn't say. */
  readonly billed: number | null;
  /** Null: the bill has no amount for it alone. */
  readonly amount: Pico | null;
}

type Amounts = Readonly<Partial<Record<Cause, Pico>>>;

/** A day's comparison of a model. Lines of the bill without a model are under `(none)`. */
export interface Cell {
  readonly day: string;
  /** Null if all projects are compared as one. */
  readonly project: string | null;
  readonly model: string;
  readonly recorded: Pico;
  readonly billed: Pico;
  readonly counts: readonly Count[];
  readonly causes: Amounts;
}

export interface Reconciliation {
  readonly cells: readonly Cell[];
  readonly recorded: Pico;
  readonly billed: Pico;
  readonly causes: Readonly<Record<Cause, Pico>>;
  /** The sum of the differences of all projects and models, without credits and rounding. */
  readonly gap: Pico;
  /** The rates that the bill implies over all days, by model, for the standard tier. */
  readonly rates: ReadonlyMap<string, ReadonlyMap<Kind, Rate>>;
  /** The most by which one line's amount may be rounded. */
  readonly lineTolerance: Pico;
  /** Lines of the bill that no rule explains, with their amounts. */
  readonly unknownLines: readonly { readonly text: string; readonly amount: Pico }[];
}

export const noModel = "(none)";
const noProject = "(none)";

/** The projects of the bill are compared as one unless the usage has projects, too. */
export function reconcile(
  usage: readonly UsageRow[],
  bill: Pick<Bill, "rows" | "separates" | "decimals">,
  { dividesByProject = false }: { readonly dividesByProject?: boolean } = {},
): Reconciliation {
  const context = contextOf(usage, bill, dividesByProject);
  const cells = [...context.cells.values()]
    .map((sides) => compare(sides, context))
    .sort(
      (a, b) =>
        compareTexts(a.day, b.day) ||
        compareTexts(a.project ?? "", b.project ?? "") ||
        compareTexts(a.model, b.model),
    );
  const sums = emptyCauses();
  for (const cell of cells) for (const cause of causeNames) sums[cause] += cell.causes[cause] ?? 0n;
  return {
    cells,
    recorded: cells.reduce((sum, { recorded }) => sum + recorded, 0n),
    billed: cells.reduce((sum, { billed }) => sum + billed, 0n),
    causes: sums,
    gap: gapOf(cells),
    rates: impliedRates(context),
    lineTolerance: context.lineTolerance,
    unknownLines: unknownLines(bill.rows),
  };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function gapOf(cells: readonly Cell[]): Pico {
  const byModel = new Map<string, Pico>();
  for (const { project, model, causes } of cells) {
    const key = JSON.stringify([project, model]);
    for (const cause of causeNames)
      if (cause !== "credits" && cause !== "rounding")
        byModel.set(key, (byModel.get(key) ?? 0n) + (causes[cause] ?? 0n));
  }
  return [...byModel.values()].reduce((sum, difference) => sum + absolute(difference), 0n);
}

/** Our usage and the bill's in one tier and region of a cell. */
interface Part {
  readonly tier: string;
  readonly region: string;
  /** Our quantities; `unpriced` and `estimated` are among them. */
  readonly ours: Map<Kind, bigint>;
  readonly unpriced: Map<Kind, bigint>;
  readonly estimated: Map<Kind, bigint>;
  /** As in `UsageRow`. */
  estimateRoom: bigint;
  /** As in `UsageRow`. */
  lostRequests: number;
  /** Our costs. */
  readonly costs: Record<Group, Pico>;
  /** Our number of requests. */
  requests: number;
  /** The bill's quantities. */
  readonly billed: Map<Kind, bigint>;
  /** The bill's amounts for them. */
  readonly amounts: Map<Kind, Pico>;
  /** The bill's amount for all kinds together; 0 once `shareTotal` has divided it. */
  total: Pico;
  /** Whether `shareTotal` has divided the total: then the rates are a guess. */
  isShared: boolean;
  billedRequests: number | null;
  /** How many lines of the bill have an amount, which may be rounded. */
  lines: number;
}

/** Our usage and the bill's in one cell. */
interface Sides extends Pick<Cell, "day" | "project" | "model"> {
  readonly parts: Map<string, Part>;
  hasUsage: boolean;
  hasBill: boolean;
  /** The sums of lines that belong to no part. */
  tool: Pico;
  credit: Pico;
  other: Pico;
}

interface Context {
  readonly cells: ReadonlyMap<string, Sides>;
  /** By model, tier, region and kind; and by model and kind. */
  readonly rates: ReadonlyMap<string, Rate>;
  readonly lineTolerance: Pico;
}

function contextOf(
  usage: readonly UsageRow[],
  { rows, separates, decimals }: Pick<Bill, "rows" | "separates" | "decimals">,
  dividesByProject: boolean,
): Context {
  const cells = new Map<string, Sides>();
  const sidesOf: Adding["sidesOf"] = ({ day, project: projectName }, model) => {
    const project = dividesByProject ? (projectName ?? noProject) : null;
    const key = JSON.stringify([day, project, model]);
    const existing = cells.get(key);
    if (existing !== undefined) return existing;
    const sides = {
      day,
      project,
      model,
      parts: new Map(),
      hasUsage: false,
      hasBill: false,
      tool: 0n,
      credit: 0n,
      other: 0n,
    };
    cells.set(key, sides);
    return sides;
  };
  const hasToolsWithoutModel = rows.some(({ item, model }) => model === null && isTool(item));
  addUsage(usage, { sidesOf, separates, hasToolsWithoutModel });
  addBill(usage, rows, { sidesOf, separates, hasToolsWithoutModel });
  // Half of the last decimal; beyond the twelfth a reader's own rounding counts.
  const lineTolerance = decimals >= 12 ? 1n : 5n * 10n ** BigInt(11 - decimals);
  for (const { model, parts } of cells.values())
    for (const part of parts.values())
      if (part.total !== 0n && part.billed.size > 0) {
        shareTotal(part, model, usage);
        // The total contains units and tools, and the bill doesn't say how much they cost.
        part.costs.input += part.costs.units + part.costs.tools;
        part.costs.units = 0n;
        part.costs.tools = 0n;
      }
  return { cells, rates: ratesOf(cells), lineTolerance };
}

interface Adding {
  readonly sidesOf: (row: Pick<UsageRow, "day" | "project">, model: string) => Sides;
  readonly separates: ReadonlySet<Kind>;
  /** The bill charges tools without naming the model, so tools are compared without it. */
  readonly hasToolsWithoutModel: boolean;
}

function isTool(item: BillRow["item"]): boolean {
  return item in kinds && kinds[item as Kind].group === "tools";
}

function addUsage(
  usage: readonly UsageRow[],
  { sidesOf, separates, hasToolsWithoutModel }: Adding,
): void {
  for (const row of usage) {
    const sides = sidesOf(row, row.model);
    const part = partOf(sides, row.tier, row.region);
    sides.hasUsage = true;
    part.requests += row.requests;
    part.lostRequests += row.lostRequests;
    part.estimateRoom += BigInt(Math.round(row.estimateRoom));
    const toolSides = hasToolsWithoutModel ? sidesOf(row, noModel) : sides;
    const toolPart = hasToolsWithoutModel ? partOf(toolSides, "standard", "") : part;
    for (const group of groups) {
      const to = group === "tools" ? toolPart : part;
      to.costs[group] += row.costs[group];
      if (row.costs[group] !== 0n && to === toolPart) toolSides.hasUsage = true;
    }
    for (const [from, into] of [
      ["quantities", "ours"],
      ["unpriced", "unpriced"],
      ["estimated", "estimated"],
    ] as const)
      for (const kind of kindNames) {
        const quantity = Math.round(row[from][kind] ?? 0);
        const billedKind = kindWithin(kind, separates);
        if (quantity === 0 || billedKind === null) continue;
        const to = isTool(kind) ? toolPart : part;
        if (isTool(kind)) toolSides.hasUsage = true;
        to[into].set(billedKind, (to[into].get(billedKind) ?? 0n) + BigInt(quantity));
      }
  }
}

function addBill(
  usage: readonly UsageRow[],
  rows: readonly BillRow[],
  { sidesOf, separates, hasToolsWithoutModel }: Adding,
): void {
  const ours = [...new Set(usage.map(({ model }) => model))];
  const names = joinModels(ours, [
    ...new Set(rows.flatMap(({ model }) => (model === null ? [] : [model]))),
  ]);
  for (const row of rows) {
    const { item, quantity, amount } = row;
    const model =
      row.model === null || (isTool(item) && hasToolsWithoutModel)
        ? noModel
        : (names.get(row.model) ?? row.model);
    const sides = sidesOf(row, model);
    sides.hasBill = true;
    if (item === "credit" || item === "tool" || item === "other") {
      sides[item] += amount ?? 0n;
      continue;
    }
    const part =
      model === noModel ? partOf(sides, "standard", "") : partOf(sides, row.tier, row.region);
    if (amount !== null) part.lines++;
    if (item === "requests") part.billedRequests = (part.billedRequests ?? 0) + (quantity ?? 0);
    else if (item === "total") part.total += amount ?? 0n;
    else {
      const kind = kindWithin(item, separates) ?? item;
      if (quantity !== null)
        part.billed.set(kind, (part.billed.get(kind) ?? 0n) + BigInt(Math.round(quantity)));
      if (amount !== null) part.amounts.set(kind, (part.amounts.get(kind) ?? 0n) + amount);
    }
  }
}

function partOf({ parts }: Sides, tier: string, region: string): Part {
  const key = `${tier}|${region}`;
  const existing = parts.get(key);
  if (existing !== undefined) return existing;
  const part: Part = {
    tier,
    region,
    ours: new Map(),
    unpriced: new Map(),
    estimated: new Map(),
    estimateRoom: 0n,
    lostRequests: 0,
    costs: { input: 0n, output: 0n, units: 0n, tools: 0n },
    requests: 0,
    billed: new Map(),
    amounts: new Map(),
    total: 0n,
    isShared: false,
    billedRequests: null,
    lines: 0,
  };
  parts.set(key, part);
  return part;
}

/**
 * Divides an amount for all kinds together in the proportion of our own costs, so that with equal
 * quantities the whole difference is one of price. Without our costs, output weighs four times as
 * much as input.
 */
function shareTotal(part: Part, model: string, usage: readonly UsageRow[]): void {
  const weights = [...part.billed].map(([kind, quantity]) => {
    const { group } = kinds[kind];
    const rate = ownRate(model, group, usage);
    return [kind, quantity * (rate ?? (group === "output" ? 4n : 1n))] as const;
  });
  const all = weights.reduce((sum, [, weight]) => sum + weight, 0n);
  if (all <= 0n) return;
  let done = 0n;
  let shared = 0n;
  for (const [kind, weight] of weights) {
    done += weight;
    const upTo = divideRounded(part.total * done, all);
    part.amounts.set(kind, (part.amounts.get(kind) ?? 0n) + upTo - shared);
    shared = upTo;
  }
  part.total = 0n;
  part.isShared = true;
}

/** Our own rate in pico-dollars for a million; null if there is no cost. */
function ownRate(model: string, group: Group, usage: readonly UsageRow[]): bigint | null {
  let cost = 0n;
  let quantity = 0n;
  for (const row of usage) {
    if (row.model !== model) continue;
    cost += row.costs[group];
    for (const kind of kindNames)
      if (kinds[kind].group === group)
        quantity += BigInt(Math.round((row.quantities[kind] ?? 0) - (row.unpriced[kind] ?? 0)));
  }
  return cost > 0n && quantity > 0n ? (cost * 1_000_000n) / quantity : null;
}

function ratesOf(cells: ReadonlyMap<string, Sides>): ReadonlyMap<string, Rate> {
  const rates = new Map<string, Rate>();
  const add = (key: string, amount: Pico, quantity: bigint): void => {
    const sum = rates.get(key) ?? { amount: 0n, quantity: 0n };
    rates.set(key, { amount: sum.amount + amount, quantity: sum.quantity + quantity });
  };
  for (const { model, parts } of cells.values()) {
    for (const part of parts.values())
      for (const [kind, amount] of part.amounts) {
        const quantity = part.billed.get(kind) ?? 0n;
        if (quantity <= 0n) continue;
        add(`${model}|${part.tier}|${part.region}|${kind}`, amount, quantity);
        add(`${model}|${kind}`, amount, quantity);
      }
  }
  return rates;
}

function impliedRates({ rates, cells }: Context): Reconciliation["rates"] {
  const ratesByModel = new Map<string, Map<Kind, Rate>>();
  for (const { model, parts } of cells.values()) {
    if ([...parts.values()].some(({ isShared }) => isShared)) continue;
    for (const kind of kindNames) {
      const rate = rates.get(`${model}|standard||${kind}`);
      if (rate === undefined) continue;
      ratesByModel.set(model, (ratesByModel.get(model) ?? new Map<Kind, Rate>()).set(kind, rate));
    }
  }
  return ratesByModel;
}

function compare(sides: Sides, context: Context): Cell {
  const { day, project, model } = sides;
  const parts = [...sides.parts.values()];
  const sums = emptyCauses();
  for (const group of groups) explainGroup({ group, model, sides, parts, context, sums });
  sums.credits += sides.credit;
  sums.tool_fee += sides.tool;
  sums.unclassified += sides.other;
  const recorded = parts.reduce(
    (sum, { costs }) => sum + groups.reduce((all, group) => all + costs[group], 0n),
    0n,
  );
  const rest = parts.reduce((sum, { total }) => sum + total, 0n);
  // An amount without any quantity: nothing says why it differs.
  if (rest !== 0n)
    sums[sides.hasUsage ? (onlyUnpriced(parts) ? "unpriced" : "unclassified") : "past_sluice"] +=
      rest;
  const amounts = parts.reduce(
    (sum, part) => [...part.amounts.values()].reduce((all, amount) => all + amount, sum),
    0n,
  );
  const billed = amounts + rest + sides.credit + sides.tool + sides.other;
  const nonZero: Partial<Record<Cause, Pico>> = {};
  for (const cause of causeNames) if (sums[cause] !== 0n) nonZero[cause] = sums[cause];
  return {
    day,
    project,
    model,
    recorded,
    billed,
    counts: parts.flatMap(countsOf),
    causes: nonZero,
  };
}

function onlyUnpriced(parts: readonly Part[]): boolean {
  return (
    parts.some(({ unpriced }) => unpriced.size > 0) &&
    parts.every(({ costs }) => groups.every((group) => costs[group] === 0n))
  );
}

function countsOf(part: Part): readonly Count[] {
  const { tier, region, requests, billedRequests } = part;
  const counts: Count[] =
    requests === 0 && billedRequests === null
      ? []
      : [
          {
            tier,
            region,
            kind: "requests",
            recorded: requests,
            billed: billedRequests,
            amount: null,
          },
        ];
  for (const kind of kindNames) {
    const ours = part.ours.get(kind);
    const billed = part.billed.get(kind);
    const amount = part.amounts.get(kind) ?? null;
    if (ours === undefined && billed === undefined && amount === null) continue;
    counts.push({
      tier,
      region,
      kind,
      recorded: Number(ours ?? 0n),
      billed: billed === undefined ? null : Number(billed),
      amount,
    });
  }
  return counts;
}

interface Explaining {
  readonly group: Group;
  readonly model: string;
  readonly sides: Sides;
  readonly parts: readonly Part[];
  readonly context: Context;
  readonly sums: Record<Cause, Pico>;
}

/** A part's quantities on their way from ours to the bill's, and what they are worth so far. */
interface Walk {
  readonly part: Part;
  readonly left: Map<Kind, bigint>;
  value: Pico;
  /** Whether its quantities are worth what the bill's rates say. */
  atBillRates: boolean;
}

function explainGroup({ group, model, sides, parts, context, sums }: Explaining): void {
  const groupKinds = kindNames.filter((kind) => kinds[kind].group === group);
  const target = parts.reduce(
    (sum, { amounts }) => groupKinds.reduce((all, kind) => all + (amounts.get(kind) ?? 0n), sum),
    0n,
  );
  const walks: readonly Walk[] = parts.map((part) => ({
    part,
    left: new Map(part.ours),
    value: part.costs[group],
    atBillRates: false,
  }));
  const tolerance = context.lineTolerance * BigInt(Math.max(1, linesOf(parts, groupKinds)));
  const priceCause: Cause = group === "tools" ? "tool_fee" : "stale_price";
  const hasQuantities = parts.some(({ billed }) => groupKinds.some((kind) => billed.has(kind)));
  const hasAmounts = parts.some(({ amounts }) => groupKinds.some((kind) => amounts.has(kind)));

  if (hasQuantities && hasAmounts) {
    for (const walk of walks) {
      addPrices(walk, { model, groupKinds, context, sums });
      useBillRates(walk, { groupKinds, tolerance, priceCause, sums });
    }
    moveTiers(walks, { groupKinds, sums });
    changeQuantities(walks, { groupKinds, sums, sides, group, parts });
  }

  const rest = target - walks.reduce((sum, { value }) => sum + value, 0n);
  if (rest === 0n) return;
  sums[causeOfRest()] += rest;

  function causeOfRest(): Cause {
    if (absolute(rest) <= tolerance && hasAmounts) return "rounding";
    const recordedNothing = parts.every(
      ({ ours, costs }) =>
        costs[group] === 0n && groupKinds.every((kind) => (ours.get(kind) ?? 0n) === 0n),
    );
    if (group === "tools") return "tool_fee";
    if (recordedNothing && rest > 0n) {
      if (
        parts.some(
          ({ tier, amounts }) => tier === "batch" && groupKinds.some((k) => amounts.has(k)),
        )
      )
        return "batch";
      if (!sides.hasUsage) return "past_sluice";
    }
    if (!hasAmounts && !sides.hasBill) return "not_billed";
    if (!hasQuantities)
      return walks.every(({ value }) => value === 0n) && onlyUnpriced(parts)
        ? "unpriced"
        : "unclassified";
    if (!hasAmounts) return "unclassified";
    const differ = groupKinds.some((kind) =>
      parts.some(({ ours, billed }) => (ours.get(kind) ?? 0n) !== (billed.get(kind) ?? 0n)),
    );
    return differ ? "tokens_not_read" : "unclassified";
  }
}

function linesOf(parts: readonly Part[], groupKinds: readonly Kind[]): number {
  return parts.some(({ amounts }) => groupKinds.some((kind) => amounts.has(kind)))
    ? parts.reduce((sum, { lines }) => sum + lines, 0)
    : 0;
}

/** The rate of a kind on the part's day; a quantity without an amount was free. */
function dayRate({ billed, amounts }: Part, kind: Kind): Rate | null {
  const quantity = billed.get(kind) ?? 0n;
  return quantity > 0n ? { amount: amounts.get(kind) ?? 0n, quantity } : null;
}

interface Step {
  readonly groupKinds: readonly Kind[];
  readonly sums: Record<Cause, Pico>;
}

/** Gives quantities without a price the bill's. */
function addPrices(
  walk: Walk,
  {
    model,
    groupKinds,
    context,
    sums,
  }: Step & { readonly model: string; readonly context: Context },
): void {
  const { part } = walk;
  for (const kind of groupKinds) {
    const quantity = part.unpriced.get(kind) ?? 0n;
    const rate =
      dayRate(part, kind) ??
      context.rates.get(`${model}|${part.tier}|${part.region}|${kind}`) ??
      context.rates.get(`${model}|${kind}`);
    if (quantity === 0n || rate === undefined) continue;
    const worth = worthOf(quantity, rate);
    sums.unpriced += worth;
    walk.value += worth;
  }
}

/** Our quantities at the bill's rates, if it has one for each. */
function useBillRates(
  walk: Walk,
  {
    groupKinds,
    tolerance,
    priceCause,
    sums,
  }: Step & { readonly tolerance: Pico; readonly priceCause: Cause },
): void {
  const used = groupKinds.filter((kind) => (walk.part.ours.get(kind) ?? 0n) !== 0n);
  if (used.length === 0) return;
  let value = 0n;
  for (const kind of used) {
    const rate = dayRate(walk.part, kind);
    if (rate === null) return;
    value += worthOf(walk.part.ours.get(kind)!, rate);
  }
  const change = value - walk.value;
  sums[absolute(change) <= tolerance ? "rounding" : priceCause] += change;
  walk.value = value;
  walk.atBillRates = true;
}

/**
 * The part of a walk's value that belongs to a quantity: by the bill's rates, if the walk uses
 * them. Otherwise the value is divided in the proportion of the rates, in millionths; a kind
 * without a rate weighs 1 pico-dollar, so that none weighs 0.
 */
function shareOf(walk: Walk, kind: Kind, quantity: bigint, groupKinds: readonly Kind[]): Pico {
  const rate = dayRate(walk.part, kind);
  if (walk.atBillRates && rate !== null) return worthOf(quantity, rate);
  const weightOf = (kind: Kind): bigint => {
    const rateOfKind = dayRate(walk.part, kind);
    return rateOfKind === null
      ? 1_000_000n
      : (rateOfKind.amount * 1_000_000n) / rateOfKind.quantity + 1n;
  };
  let all = 0n;
  for (const otherKind of groupKinds)
    all += absolute(walk.left.get(otherKind) ?? 0n) * weightOf(otherKind);
  return all === 0n ? 0n : divideRounded(walk.value * quantity * weightOf(kind), all);
}

/** Moves quantities to the tiers and regions in which the bill has them. */
function moveTiers(walks: readonly Walk[], { groupKinds, sums }: Step): void {
  for (const kind of groupKinds)
    for (const from of walks)
      for (const to of walks) {
        const rate = dayRate(to.part, kind);
        const moved = smaller(surplusOf(from, kind), -surplusOf(to, kind));
        if (from === to || rate === null || moved <= 0n) continue;
        const before = shareOf(from, kind, moved, groupKinds);
        const after = worthOf(moved, rate);
        from.left.set(kind, (from.left.get(kind) ?? 0n) - moved);
        to.left.set(kind, (to.left.get(kind) ?? 0n) + moved);
        from.value -= before;
        to.value += after;
        const isBatch = to.part.tier === "batch";
        sums[from.part.tier === to.part.tier ? "region" : isBatch ? "batch" : "tier"] +=
          after - before;
      }
}

/** How much more of a kind we have than the bill; negative if the bill has more. */
function surplusOf({ left, part }: Walk, kind: Kind): bigint {
  return (left.get(kind) ?? 0n) - (part.billed.get(kind) ?? 0n);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** Adds missing quantities and removes surplus ones. */
function changeQuantities(
  walks: readonly Walk[],
  {
    groupKinds,
    sums,
    sides,
    group,
    parts,
  }: Step & {
    readonly sides: Sides;
    readonly group: Group;
    readonly parts: readonly Part[];
  },
): void {
  let missing = 0n;
  let surplus = 0n;
  for (const walk of walks)
    for (const kind of groupKinds) {
      const excess = surplusOf(walk, kind);
      if (excess > 0n) surplus += excess;
      else missing -= excess;
    }
  // As many tokens of one kind are missing as another has too many: recorded as the wrong kind.
  const swapped = smaller(missing, surplus);
  const unrecorded = unrecordedShare(parts, sides.hasUsage);
  let room = parts.reduce((sum, { estimateRoom }) => sum + estimateRoom, 0n);
  for (const kind of groupKinds) {
    const estimated = parts.reduce((sum, part) => sum + (part.estimated.get(kind) ?? 0n), 0n);
    const billed = parts.reduce((sum, part) => sum + (part.billed.get(kind) ?? 0n), 0n);
    let unrecordedLeft =
      unrecorded === null ? 0n : (billed * unrecorded.missing) / unrecorded.billed;
    let estimatedLeft = estimated > 0n ? estimated : 0n;
    for (const walk of walks) {
      const excess = surplusOf(walk, kind);
      if (excess === 0n) continue;
      const rate = dayRate(walk.part, kind);
      const total = excess > 0n ? surplus : missing;
      const size = absolute(excess);
      const swap = total === 0n ? 0n : (size * swapped) / total;
      const pieces: [Cause, bigint][] = [];
      let rest = size;
      const take = (cause: Cause, quantityMax: bigint): bigint => {
        const quantity = quantityMax > rest ? rest : quantityMax > 0n ? quantityMax : 0n;
        if (quantity > 0n) pieces.push([cause, quantity]);
        rest -= quantity;
        return quantity;
      };
      if (group === "tools") take("tool_fee", rest);
      if (excess < 0n) {
        if (walk.part.tier === "batch") take("batch", rest);
        take("tokens_not_read", swap);
        unrecordedLeft -= take("past_sluice", unrecordedLeft);
        if (isTokens(kind)) {
          const estimateMax = estimatedLeft > room ? estimatedLeft : room;
          const estimate = take("estimated", estimateMax);
          room -= estimate;
          estimatedLeft -= estimate;
        }
        take("tokens_not_read", rest);
      } else {
        take("tokens_not_read", swap);
        estimatedLeft -= take("estimated", estimatedLeft);
        take("not_billed", rest);
      }
      addPieces(walk, kind, { pieces, sign: excess < 0n ? 1n : -1n, rate, size, groupKinds, sums });
    }
  }
}

/**
 * Adds the worth of each piece to its cause, rounded so that the pieces add up. `sign`: 1 for
 * quantities that are added, at the bill's rate; -1 for those that are removed, at what they were
 * worth.
 */
function addPieces(
  walk: Walk,
  kind: Kind,
  {
    pieces,
    sign,
    rate,
    size,
    groupKinds,
    sums,
  }: Step & {
    readonly pieces: readonly (readonly [Cause, bigint])[];
    readonly sign: bigint;
    readonly rate: Rate | null;
    readonly size: bigint;
  },
): void {
  const worth =
    sign < 0n ? shareOf(walk, kind, size, groupKinds) : rate === null ? 0n : worthOf(size, rate);
  let done = 0n;
  let attributed = 0n;
  for (const [cause, quantity] of pieces) {
    done += quantity;
    const upTo = divideRounded(worth * done, size);
    sums[cause] += sign * (upTo - attributed);
    attributed = upTo;
  }
  walk.value += sign * attributed;
  walk.left.set(kind, (walk.left.get(kind) ?? 0n) + sign * size);
}

interface UnrecordedShare {
  readonly missing: bigint;
  readonly billed: bigint;
}

/**
 * The share of the billed traffic that we have no records of: by requests if the bill counts them,
 * else the smaller of the shares that input and output miss. Null: none.
 */
function unrecordedShare(parts: readonly Part[], hasUsage: boolean): UnrecordedShare | null {
  if (!hasUsage) return { missing: 1n, billed: 1n };
  const counted = parts.filter(
    ({ billedRequests, tier }) => billedRequests !== null && tier !== "batch",
  );
  if (counted.length > 0) {
    const billed = counted.reduce((sum, part) => sum + part.billedRequests!, 0);
    const ours = parts.reduce((sum, part) => sum + part.requests + part.lostRequests, 0);
    return billed > ours ? { missing: BigInt(billed - ours), billed: BigInt(billed) } : null;
  }
  let least: UnrecordedShare | null = null;
  for (const group of ["input", "output"] as const) {
    let ours = 0n;
    let billed = 0n;
    for (const part of parts.filter(({ tier }) => tier !== "batch"))
      for (const kind of kindNames)
        if (kinds[kind].group === group) {
          ours += part.ours.get(kind) ?? 0n;
          billed += part.billed.get(kind) ?? 0n;
        }
    if (billed === 0n) continue;
    if (billed <= ours) return null;
    const share = { missing: billed - ours, billed };
    if (least === null || share.missing * least.billed < least.missing * share.billed)
      least = share;
  }
  return least;
}

function emptyCauses(): Record<Cause, Pico> {
  return Object.fromEntries(causeNames.map((cause) => [cause, 0n])) as Record<Cause, Pico>;
}

function unknownLines(rows: readonly BillRow[]): Reconciliation["unknownLines"] {
  const byText = new Map<string, Pico>();
  for (const { item, text, amount } of rows)
    if (item === "other" && amount !== null && amount !== 0n)
      byText.set(text ?? "", (byText.get(text ?? "") ?? 0n) + amount);
  return [...byText]
    .map(([text, amount]) => ({ text, amount }))
    .sort((a, b) => (absolute(a.amount) > absolute(b.amount) ? -1 : 1));
}
