/**
 * The result of a comparison that the gateway keeps and the dashboard shows: sums over the days,
 * with what differs most, as much as fits. Pure.
 */

import type { Cause } from "../../shared/api/bill-causes.js";
import type { Reconciliation as KeptReconciliation } from "../../shared/api/reconciliation-item.js";
import { reconciliationBytesMax } from "../../shared/bounds.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";
import { absolute, exactUsd, type Pico } from "./amount.js";
import type { Cell, Reconciliation } from "./reconcile.js";
import { amountsJson, countRows, type ReportHead, totalsJson } from "./report.js";

/**
 * The most characters of a text from a bill: enough to recognize a model, a tier or a line's title.
 */
const textCharsMax = 200;
/** The lengths to which lists are cut, tried in turn until the result fits. At 200 few are cut. */
const entriesMax = [200, 100, 50, 25, 10, 5, 2] as const;

export function keptResult(head: ReportHead, result: Reconciliation): KeptReconciliation {
  const models = modelsOf(result.cells);
  const quantities = countRows(result.cells, false).map(({ model, tier, kind, ...counts }) => ({
    model: shortened(model),
    tier: shortened(tier),
    kind,
    recorded: counts.recorded,
    billed: counts.billed,
  }));
  const lines = result.unknownLines.map(({ text, amount }) => ({
    text: shortened(text),
    billed_usd: exactUsd(amount),
  }));
  const withAtMost = (count: number): KeptReconciliation => {
    const lists = [models, quantities, lines, head.prices, head.notes];
    const isCut = lists.some((list) => list.length > count);
    return {
      ...totalsJson(head, result),
      models: models.slice(0, count),
      quantities: quantities.slice(0, count),
      unknown_lines: lines.slice(0, count),
      prices: head.prices.slice(0, count),
      notes: [
        ...head.notes.slice(0, count).map(shortened),
        ...(isCut ? [`of each list at most ${count} entries are kept: the report has all`] : []),
      ],
    };
  };
  const fitting = entriesMax
    .map(withAtMost)
    .find((candidate) => utf8Bytes(JSON.stringify(candidate)) <= reconciliationBytesMax);
  return fitting ?? withAtMost(0);
}

/** Models with a difference, sums over the days, the largest first. */
function modelsOf(cells: readonly Cell[]): KeptReconciliation["models"] {
  const byModel = new Map<string, { first: Cell; recorded: Pico; billed: Pico; causes: Causes }>();
  for (const cell of cells) {
    const key = JSON.stringify([cell.project, cell.model]);
    const sums = byModel.get(key) ?? { first: cell, recorded: 0n, billed: 0n, causes: {} };
    byModel.set(key, sums);
    sums.recorded += cell.recorded;
    sums.billed += cell.billed;
    for (const [cause, amount] of Object.entries(cell.causes) as [Cause, Pico][])
      sums.causes[cause] = (sums.causes[cause] ?? 0n) + amount;
  }
  return [...byModel.values()]
    .map((sums) => ({ ...sums, off: offBy(sums.causes) }))
    .filter(({ off: difference }) => difference > 0n)
    .sort((a, b) => (a.off > b.off ? -1 : 1))
    .map(({ first: { project, model }, recorded, billed, causes }) => ({
      project: project === null ? null : shortened(project),
      model: shortened(model),
      recorded_usd: exactUsd(recorded),
      billed_usd: exactUsd(billed),
      causes: amountsJson(causes),
    }));
}

type Causes = Partial<Record<Cause, Pico>>;

function offBy(causes: Causes): Pico {
  return Object.values(causes).reduce((sum, amount) => sum + absolute(amount), 0n);
}

function shortened(text: string): string {
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax - 1)}…` : text;
}
