/**
 * Compares our usage with a bill. First both are put side by side by UTC day, project and model
 * (`cells.ts`), then the difference of each cell is explained, cause by cause (`explain-cell.ts`).
 * Pure.
 */

import { type Cause, causeNames } from "../../shared/api/bill-causes.js";
import { absolute, type Pico, type Rate } from "./amount.js";
import { type Bill, type BillRow, groups, type Kind, kindNames } from "./bill.js";
import { type ComparedCell, compareCells, type Part } from "./cells.js";
import { explainCell, noCauses } from "./explain-cell.js";
import { ImpliedRates } from "./implied-rates.js";
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

/** The projects of the bill are compared as one unless the usage has projects, too. */
export function reconcile(
  usage: readonly UsageRow[],
  bill: Pick<Bill, "rows" | "separates" | "decimals">,
  { dividesByProject = false }: { readonly dividesByProject?: boolean } = {},
): Reconciliation {
  const compared = compareCells(usage, bill, { dividesByProject });
  const rates = new ImpliedRates(compared);
  const lineTolerance = lineToleranceOf(bill);
  const cells = compared
    .map((cell) => resultOf(cell, explainCell(cell, { rates, lineTolerance })))
    .sort(
      (a, b) =>
        compareTexts(a.day, b.day) ||
        compareTexts(a.project ?? "", b.project ?? "") ||
        compareTexts(a.model, b.model),
    );
  const causes = noCauses();
  for (const cell of cells)
    for (const cause of causeNames) causes[cause] += cell.causes[cause] ?? 0n;
  return {
    cells,
    recorded: cells.reduce((sum, { recorded }) => sum + recorded, 0n),
    billed: cells.reduce((sum, { billed }) => sum + billed, 0n),
    causes,
    gap: gapOf(cells),
    rates: rates.byModel(),
    lineTolerance,
    unknownLines: unknownLines(bill.rows),
  };
}

/** Half of the last decimal; beyond the twelfth a reader's own rounding counts. */
function lineToleranceOf({ decimals }: Pick<Bill, "decimals">): Pico {
  return decimals >= 12 ? 1n : 5n * 10n ** BigInt(11 - decimals);
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

function resultOf(cell: ComparedCell, causes: Readonly<Record<Cause, Pico>>): Cell {
  const { day, project, model } = cell;
  const parts = [...cell.parts.values()];
  let recorded = 0n;
  let billed = cell.credit + cell.tool + cell.other;
  for (const { costs, amounts, total } of parts) {
    for (const group of groups) recorded += costs[group];
    for (const amount of amounts.values()) billed += amount;
    billed += total;
  }
  const nonZero: Partial<Record<Cause, Pico>> = {};
  for (const cause of causeNames) if (causes[cause] !== 0n) nonZero[cause] = causes[cause];
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

function countsOf(part: Part): readonly Count[] {
  const { tier, region, recordedRequests, billedRequests } = part;
  const counts: Count[] = [];
  if (recordedRequests !== 0 || billedRequests !== null)
    counts.push({
      ...{ tier, region, kind: "requests" },
      recorded: recordedRequests,
      billed: billedRequests,
      amount: null,
    });
  for (const kind of kindNames) {
    const recorded = part.recorded.get(kind);
    const billed = part.billed.get(kind);
    const amount = part.amounts.get(kind) ?? null;
    if (recorded === undefined && billed === undefined && amount === null) continue;
    counts.push({
      tier,
      region,
      kind,
      recorded: Number(recorded ?? 0n),
      billed: billed === undefined ? null : Number(billed),
      amount,
    });
  }
  return counts;
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
