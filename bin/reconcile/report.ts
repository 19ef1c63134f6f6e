/** What `sluice reconcile` prints: for people and, as JSON, for programs. Pure. */

import { billCauses, type Cause, causeNames } from "../../shared/api/bill-causes.js";
import {
  type Reconciliation as KeptReconciliation,
  quantityMax,
} from "../../shared/api/reconciliation-item.js";
import { greatest } from "../../shared/long-lists.js";
import { formatPercent } from "../../shared/text/percent.js";
import { formatCount } from "../text/number-text.js";
import { type Column, renderFields, renderTable } from "../text/table.js";
import {
  absolute,
  decimalsFor,
  exactUsd,
  type Pico,
  plainRate,
  type Rate,
  shownUsd,
} from "./amount.js";
import { isTokens, type Kind } from "./bill.js";
import { type Cell, type Count, gapOf, type Reconciliation } from "./reconcile.js";

export interface ReportHead {
  readonly provider: string;
  /** `openai`, `csv` and so on. */
  readonly source: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly notes: readonly string[];
  readonly prices: readonly string[];
  /** The names of the provider keys by the project that they are paired with; empty: none are. */
  readonly pairs: ReadonlyMap<string, readonly string[]>;
}

type Sums = Pick<Reconciliation, "recorded" | "billed" | "gap">;

/** Percent of what was billed, with two places, rounded up: a gap is never shown as none. */
function gapPercent({ gap, billed, recorded }: Sums): number {
  const total = billed > 0n ? billed : recorded;
  if (gap === 0n) return 0;
  const percent = total <= 0n ? 100 : Number((gap * 10_000n + total - 1n) / total) / 100;
  return Math.min(percent, quantityMax);
}

export function gapText(sums: Sums): string {
  return formatPercent(gapPercent(sums) / 100, 2);
}

/** Money as exact decimal texts. */
export function reportJson(head: ReportHead, result: Reconciliation): object {
  return {
    ...totalsJson(head, result),
    projects: projectsOf(head, result).map(({ project, keys, ...sums }) => ({
      project,
      provider_keys: keys,
      ...sumsJson(sums),
    })),
    days: result.cells.map((cell) => ({
      date: cell.day,
      project: cell.project,
      model: cell.model,
      recorded_usd: exactUsd(cell.recorded),
      billed_usd: exactUsd(cell.billed),
      causes: amountsJson(cell.causes),
      quantities: cell.counts.map(({ tier, region, kind, recorded, billed, amount }) => ({
        tier,
        region: region === "" ? null : region,
        kind,
        recorded,
        billed,
        billed_usd: amount === null ? null : exactUsd(amount),
        billed_rate: rateText(kind, billed, amount),
      })),
    })),
    unknown_lines: result.unknownLines.map(({ text, amount }) => ({
      text,
      billed_usd: exactUsd(amount),
    })),
    prices: head.prices,
    notes: head.notes,
  };
}

type SumsJson = Pick<
  KeptReconciliation,
  "recorded_usd" | "billed_usd" | "difference_usd" | "gap_usd" | "gap_percent"
>;

/** What was compared, and the sums of all. */
export function totalsJson(
  head: ReportHead,
  result: Reconciliation,
): SumsJson &
  Pick<KeptReconciliation, "provider" | "source" | "start_date" | "end_date" | "causes"> {
  return {
    provider: head.provider,
    source: head.source,
    start_date: head.startDate,
    end_date: head.endDate,
    ...sumsJson(result),
    causes: amountsJson(result.causes),
  };
}

function sumsJson(sums: Sums): SumsJson {
  return {
    recorded_usd: exactUsd(sums.recorded),
    billed_usd: exactUsd(sums.billed),
    difference_usd: exactUsd(sums.billed - sums.recorded),
    gap_usd: exactUsd(sums.gap),
    gap_percent: gapPercent(sums),
  };
}

interface ProjectSums extends Sums {
  readonly project: string;
  readonly keys: readonly string[];
  readonly cells: readonly Cell[];
}

function projectsOf({ pairs }: ReportHead, { cells }: Reconciliation): readonly ProjectSums[] {
  return [...pairs].map(([project, keys]) => {
    const projectCells = cells.filter((cell) => cell.project === project);
    return {
      project,
      keys,
      cells: projectCells,
      recorded: projectCells.reduce((sum, { recorded }) => sum + recorded, 0n),
      billed: projectCells.reduce((sum, { billed }) => sum + billed, 0n),
      gap: gapOf(projectCells),
    };
  });
}

export function amountsJson(
  amounts: Readonly<Partial<Record<Cause, Pico>>>,
): Readonly<Partial<Record<Cause, string>>> {
  return Object.fromEntries(
    causeNames.flatMap((cause) => {
      const amount = amounts[cause] ?? 0n;
      return amount === 0n ? [] : [[cause, exactUsd(amount)]];
    }),
  );
}

/** Dollars for a million tokens, or for one unit of anything else. */
function rateText(kind: Count["kind"], billed: number | null, amount: Pico | null): string | null {
  if (kind === "requests" || billed === null || billed <= 0 || amount === null) return null;
  const rate: Rate = { amount, quantity: BigInt(Math.round(billed)) };
  return rate.quantity === 0n ? null : plainRate(rate, isTokens(kind) ? 1_000_000n : 1n, 0n);
}

const modelColumns = 30;
const linesMax = 40;

/** For people; `columns` is the width of the terminal. */
export function reportText(
  head: ReportHead,
  result: Reconciliation,
  { columns, isAll }: { readonly columns: number; readonly isAll: boolean },
): string {
  const { recorded, billed, cells } = result;
  const projects = projectsOf(head, result);
  const counts = { isAll, modelWidth: Math.max(12, Math.min(modelColumns, columns - 62)) };
  const heading = `${head.provider}, ${head.startDate} to ${head.endDate} (UTC), by its ${head.source} bill`;
  if (cells.length === 0) return `${heading}: nothing recorded, nothing billed`;
  const decimals = decimalsFor([recorded, billed]);
  const totals = [
    ["billed", shownUsd(billed, decimals)],
    ["recorded", shownUsd(recorded, decimals)],
    ["difference", shownUsd(billed - recorded, decimals)],
    ["gap", gapText(result)],
  ] as const;
  const widest = greatest(totals.map(([, value]) => value.length));
  const parts = [
    `${heading}\n${renderFields(totals.map(([name, value]) => [name, value.padStart(widest)]))}`,
    renderCauses(result),
    renderProjects(projects, { decimals, width: Math.max(24, columns - 45) }),
    ...(projects.length === 0
      ? [renderCounts(cells, counts)]
      : projects.map(({ project, cells: projectCells }) => {
          const table = renderCounts(projectCells, counts);
          return table === "" ? "" : `${project}:\n${table}`;
        })),
    ...(result.unknownLines.length === 0
      ? []
      : [
          [
            "lines of the bill that aren't understood:",
            ...result.unknownLines
              .slice(0, linesMax)
              .map(({ text, amount }) => `  ${shownUsd(amount, decimalsFor([amount]))}  ${text}`),
          ].join("\n"),
        ]),
    ...(head.prices.length === 0
      ? []
      : [`the bill's rates, for your configuration:\n${head.prices.join("\n")}`]),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function renderCauses({ causes: sums, cells }: Reconciliation): string {
  const rows = causeNames
    .filter((cause) => sums[cause] !== 0n || cells.some((cell) => cell.causes[cause] !== undefined))
    .map((cause) => ({ cause, amount: sums[cause] }))
    .filter(({ cause, amount }) => amount !== 0n || cause !== "rounding");
  if (rows.length === 0) return "no difference";
  const decimals = decimalsFor(rows.map(({ amount }) => amount));
  return renderTable(
    [
      { title: "CAUSE", align: "left", text: ({ cause }) => cause },
      { title: "AMOUNT", align: "right", text: ({ amount }) => shownUsd(amount, decimals) },
      { title: "MEANING", align: "left", text: ({ cause }) => billCauses[cause].meaning },
    ],
    rows,
  );
}

/** `width`: of the first two columns together. */
function renderProjects(
  projects: readonly ProjectSums[],
  { decimals, width }: { readonly decimals: number; readonly width: number },
): string {
  if (projects.length === 0) return "";
  const keysWidth = Math.floor(width / 2.5);
  return renderTable(
    [
      {
        title: "PROJECT",
        align: "left",
        text: ({ project }) => clipped(project, width - keysWidth),
      },
      {
        title: "PROVIDER KEYS",
        align: "left",
        text: ({ keys }) => clipped(keys.join(", "), keysWidth),
      },
      { title: "RECORDED", align: "right", text: (sums) => shownUsd(sums.recorded, decimals) },
      { title: "BILLED", align: "right", text: (sums) => shownUsd(sums.billed, decimals) },
      { title: "GAP", align: "right", text: (sums) => gapText(sums) },
    ],
    projects,
  );
}

interface CountRow {
  readonly model: string;
  readonly tier: string;
  readonly kind: Count["kind"];
  recorded: number;
  billed: number | null;
  amount: Pico | null;
}

/** Sums over the days; without `isAll` only what differs. */
export function countRows(cells: readonly Cell[], isAll: boolean): readonly CountRow[] {
  const rows = new Map<string, CountRow>();
  for (const { model, counts } of cells)
    for (const { tier, region, kind, recorded, billed, amount } of counts) {
      const place = region === "" ? tier : `${tier} ${region}`;
      const key = JSON.stringify([model, place, kind]);
      const row = rows.get(key) ?? {
        model,
        tier: place,
        kind,
        recorded: 0,
        billed: null,
        amount: null,
      };
      rows.set(key, row);
      row.recorded += recorded;
      if (billed !== null) row.billed = (row.billed ?? 0) + billed;
      if (amount !== null) row.amount = (row.amount ?? 0n) + amount;
    }
  return [...rows.values()].filter(
    ({ recorded, billed }) => isAll || (billed ?? recorded) !== recorded,
  );
}

function renderCounts(
  cells: readonly Cell[],
  { isAll, modelWidth }: { readonly isAll: boolean; readonly modelWidth: number },
): string {
  const visible = countRows(cells, isAll);
  if (visible.length === 0) return "";
  const columns: readonly Column<CountRow>[] = [
    { title: "MODEL", align: "left", text: ({ model }) => clipped(model, modelWidth) },
    { title: "TIER", align: "left", text: ({ tier }) => tier },
    { title: "QUANTITY", align: "left", text: ({ kind }) => kind },
    { title: "RECORDED", align: "right", text: ({ recorded }) => formatCount(recorded) },
    {
      title: "BILLED",
      align: "right",
      text: ({ billed }) => (billed === null ? "-" : formatCount(billed)),
    },
    {
      title: "RATE",
      align: "right",
      text: ({ kind, billed, amount }) => shownRate(kind, billed, amount),
    },
  ];
  return renderTable(columns, visible);
}

function shownRate(kind: Kind | "requests", billed: number | null, amount: Pico | null): string {
  const exact = rateText(kind, billed, amount);
  return exact === null ? "-" : `$${Number(Number(exact).toPrecision(4))}`;
}

function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Whether the gap is above a limit in hundredths of a percent. */
export function isAbove(result: Reconciliation, hundredths: number): boolean {
  const total = result.billed > 0n ? result.billed : result.recorded;
  return absolute(result.gap) * 10_000n > BigInt(hundredths) * (total > 0n ? total : 0n);
}
