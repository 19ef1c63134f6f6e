/**
 * Puts our usage and the bill side by side, by UTC day, project and model (a `ComparedCell`), and
 * within a cell by service tier and region (a `Part`). Not here: why they differ
 * (`explain-cell.ts`). Pure.
 */
import { divideRounded, type Pico } from "./amount.js";
import {
  type Bill,
  type BillRow,
  type Group,
  groups,
  type Kind,
  kindNames,
  kinds,
  kindWithin,
} from "./bill.js";
import { joinModels } from "./model-names.js";
import type { UsageRow } from "./our-usage.js";

/** Our usage and the bill's in one tier and region of a cell. */
export interface Part {
  readonly tier: string;
  readonly region: string;
  /** Our quantities; `unpriced` and `estimated` are among them. */
  readonly recorded: Map<Kind, bigint>;
  readonly unpriced: Map<Kind, bigint>;
  readonly estimated: Map<Kind, bigint>;
  /** As in `UsageRow`. */
  estimateRoom: bigint;
  /** As in `UsageRow`. */
  lostRequests: number;
  /** Our costs. */
  readonly costs: Record<Group, Pico>;
  recordedRequests: number;
  /** The bill's quantities. */
  readonly billed: Map<Kind, bigint>;
  /** The bill's amounts for them. */
  readonly amounts: Map<Kind, Pico>;
  /** The bill's amount for all kinds together; 0 once `divideTotal` has divided it. */
  total: Pico;
  /** Whether `divideTotal` has divided the total: then the rates are a guess. */
  isTotalDivided: boolean;
  /** Null: the bill doesn't say. */
  billedRequests: number | null;
  /** How many lines of the bill have an amount, which may be rounded. */
  lines: number;
}

/** Our usage and the bill's on one day, of one project and model. */
export interface ComparedCell {
  readonly day: string;
  /** Null if all projects are compared as one. */
  readonly project: string | null;
  readonly model: string;
  /** By tier and region. */
  readonly parts: Map<string, Part>;
  hasUsage: boolean;
  hasBill: boolean;
  /** The sums of lines that belong to no part. */
  tool: Pico;
  credit: Pico;
  other: Pico;
}

/** The model of lines of the bill without one. */
export const noModel = "(none)";
const noProject = "(none)";

export function compareCells(
  usage: readonly UsageRow[],
  { rows, separates }: Pick<Bill, "rows" | "separates">,
  { dividesByProject }: { readonly dividesByProject: boolean },
): readonly ComparedCell[] {
  const cells = new Map<string, ComparedCell>();
  const cellOf: Sorting["cellOf"] = ({ day, project: projectName }, model) => {
    const project = dividesByProject ? (projectName ?? noProject) : null;
    const key = JSON.stringify([day, project, model]);
    const existing = cells.get(key);
    if (existing !== undefined) return existing;
    const cell = emptyCell(day, project, model);
    cells.set(key, cell);
    return cell;
  };
  const hasToolsWithoutModel = rows.some(({ item, model }) => model === null && isTool(item));
  addUsage(usage, { cellOf, separates, hasToolsWithoutModel });
  addBill(usage, rows, { cellOf, separates, hasToolsWithoutModel });
  for (const { model, parts } of cells.values())
    for (const part of parts.values())
      if (part.total !== 0n && part.billed.size > 0) {
        divideTotal(part, model, usage);
        // The total contains units and tools, and the bill doesn't say how much they cost.
        part.costs.input += part.costs.units + part.costs.tools;
        part.costs.units = 0n;
        part.costs.tools = 0n;
      }
  return [...cells.values()];
}

function emptyCell(day: string, project: string | null, model: string): ComparedCell {
  return {
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
}

/** To which cell and kind a row belongs. */
interface Sorting {
  readonly cellOf: (row: Pick<UsageRow, "day" | "project">, model: string) => ComparedCell;
  readonly separates: ReadonlySet<Kind>;
  /** The bill charges tools without naming the model, so tools are compared without it. */
  readonly hasToolsWithoutModel: boolean;
}

function isTool(item: BillRow["item"]): boolean {
  return item in kinds && kinds[item as Kind].group === "tools";
}

function addUsage(
  usage: readonly UsageRow[],
  { cellOf, separates, hasToolsWithoutModel }: Sorting,
): void {
  for (const row of usage) {
    const cell = cellOf(row, row.model);
    const part = partOf(cell, row);
    cell.hasUsage = true;
    part.recordedRequests += row.requests;
    part.lostRequests += row.lostRequests;
    part.estimateRoom += BigInt(Math.round(row.estimateRoom));
    const toolCell = hasToolsWithoutModel ? cellOf(row, noModel) : cell;
    const toolPart = hasToolsWithoutModel ? partOf(toolCell, withoutTier) : part;
    for (const group of groups) {
      const to = group === "tools" ? toolPart : part;
      to.costs[group] += row.costs[group];
      if (row.costs[group] !== 0n && to === toolPart) toolCell.hasUsage = true;
    }
    for (const [from, into] of [
      ["quantities", "recorded"],
      ["unpriced", "unpriced"],
      ["estimated", "estimated"],
    ] as const)
      for (const kind of kindNames) {
        const quantity = Math.round(row[from][kind] ?? 0);
        const billedKind = kindWithin(kind, separates);
        if (quantity === 0 || billedKind === null) continue;
        const to = isTool(kind) ? toolPart : part;
        if (isTool(kind)) toolCell.hasUsage = true;
        addTo(to[into], billedKind, BigInt(quantity));
      }
  }
}

function addBill(
  usage: readonly UsageRow[],
  rows: readonly BillRow[],
  { cellOf, separates, hasToolsWithoutModel }: Sorting,
): void {
  const recordedModels = [...new Set(usage.map(({ model }) => model))];
  const recordedNames = joinModels(recordedModels, [
    ...new Set(rows.flatMap(({ model }) => (model === null ? [] : [model]))),
  ]);
  for (const row of rows) {
    const { item, quantity, amount } = row;
    const model =
      row.model === null || (isTool(item) && hasToolsWithoutModel)
        ? noModel
        : (recordedNames.get(row.model) ?? row.model);
    const cell = cellOf(row, model);
    cell.hasBill = true;
    if (item === "credit" || item === "tool" || item === "other") {
      cell[item] += amount ?? 0n;
      continue;
    }
    const part = partOf(cell, model === noModel ? withoutTier : row);
    if (amount !== null) part.lines++;
    if (item === "requests") part.billedRequests = (part.billedRequests ?? 0) + (quantity ?? 0);
    else if (item === "total") part.total += amount ?? 0n;
    else {
      const kind = kindWithin(item, separates) ?? item;
      if (quantity !== null) addTo(part.billed, kind, BigInt(Math.round(quantity)));
      if (amount !== null) addTo(part.amounts, kind, amount);
    }
  }
}

function addTo(sums: Map<Kind, bigint>, kind: Kind, quantity: bigint): void {
  sums.set(kind, (sums.get(kind) ?? 0n) + quantity);
}

/** The part of what has no model. */
const withoutTier = { tier: "standard", region: "" } as const;

function partOf(
  { parts }: ComparedCell,
  { tier, region }: { readonly tier: string; readonly region: string },
): Part {
  const key = `${tier}|${region}`;
  const existing = parts.get(key);
  if (existing !== undefined) return existing;
  const part: Part = {
    tier,
    region,
    recorded: new Map(),
    unpriced: new Map(),
    estimated: new Map(),
    estimateRoom: 0n,
    lostRequests: 0,
    costs: { input: 0n, output: 0n, units: 0n, tools: 0n },
    recordedRequests: 0,
    billed: new Map(),
    amounts: new Map(),
    total: 0n,
    isTotalDivided: false,
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
function divideTotal(part: Part, model: string, usage: readonly UsageRow[]): void {
  const weights = [...part.billed].map(([kind, quantity]) => {
    const { group } = kinds[kind];
    const rate = ownRate(model, group, usage);
    return [kind, quantity * (rate ?? (group === "output" ? 4n : 1n))] as const;
  });
  const weightOfAll = weights.reduce((sum, [, weight]) => sum + weight, 0n);
  if (weightOfAll <= 0n) return;
  let weightSoFar = 0n;
  let amountSoFar = 0n;
  for (const [kind, weight] of weights) {
    weightSoFar += weight;
    const upTo = divideRounded(part.total * weightSoFar, weightOfAll);
    addTo(part.amounts, kind, upTo - amountSoFar);
    amountSoFar = upTo;
  }
  part.total = 0n;
  part.isTotalDivided = true;
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
