/** The screen of `sluice top`: a head line, a table, a line of keys. Pure. */
import { budgetColumns } from "../limits/budget-table.js";
import type { ListedLimit } from "../limits/list-limits.js";
import { isTemplate, ruleColumns, usedShare } from "../limits/rule-table.js";
import { cutTo, displayWidth } from "../text/display-width.js";
import { formatDuration } from "../text/duration.js";
import { formatCount, formatUsd, withCurrency } from "../text/number-text.js";
import { type Column, renderTable } from "../text/table.js";
import { type Tab, type TopState, tabs } from "./top-state.js";

/** Counts of the daemon at one moment. */
export interface Counts {
  readonly atMs: number;
  readonly admitted: number;
  readonly refused: number;
  readonly tokens: number;
}

export interface TopData {
  /** Null until there are two readings of one daemon. */
  readonly before: Counts | null;
  readonly now: Counts;
  readonly inFlight: number;
  readonly spentTodayUsd: number | null;
  /** Why the store can't be written; null if it can. */
  readonly storeFailing: string | null;
  /** Why the data is old; null if it is current. */
  readonly lost: string | null;
  /** By the daemon's clock. */
  readonly serverMs: number;
  readonly items: readonly ListedLimit[];
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The lines of the screen: one for each row of the terminal, at most as wide as its columns. */
export function drawTop(
  state: TopState,
  data: TopData,
  { columns, rows }: Size,
): readonly string[] {
  const [title = "", ...table] = state.mode === "help" ? help : tableLines(state, data, columns);
  const room = Math.max(1, rows - 4);
  // The selected line is always visible.
  const first = Math.max(0, Math.min(state.selected - room + 1, table.length - room));
  const body = table
    .slice(first, first + room)
    .map((line, i) =>
      state.mode !== "help" && first + i === state.selected ? `>${line}` : ` ${line}`,
    );
  const blank = Array.from({ length: Math.max(0, room - body.length) }, () => "");
  const head = headLine(data, state, columns);
  return [head, tabLine(state), ` ${title}`, ...body, ...blank, footLine(state)]
    .slice(0, rows)
    .map((line) => cutTo(withoutControls(line), columns));
}

/** The number of lines in the table, without titles. */
export function countLines(state: TopState, data: TopData): number {
  return rowsOf(state, data).length;
}

/** The item of the selected line; undefined if there is none. */
export function selectedItem(state: TopState, data: TopData): ListedLimit | undefined {
  return rowsOf(state, data)[state.selected];
}

/** Warnings come first; a part that doesn't fit at the end is left out as a whole. */
function headLine(
  { before, now, inFlight, spentTodayUsd, storeFailing, lost }: TopData,
  { isPaused }: TopState,
  columns: number,
): string {
  if (lost !== null) return `no answer: ${lost.replace(/^error: /, "")}`;
  const seconds = before === null ? 0 : (now.atMs - before.atMs) / 1000;
  const perSecond = (field: "admitted" | "refused" | "tokens"): number | null =>
    before === null || seconds <= 0 ? null : (now[field] - before[field]) / seconds;
  const rate = (value: number | null, digits = 1): string =>
    value === null ? "-" : value.toFixed(value < 10 ? digits : 0);
  const tokens = perSecond("tokens");
  const parts = [
    ...(isPaused ? ["PAUSED"] : []),
    ...(storeFailing === null ? [] : [`STORE FAILS: ${storeFailing}`]),
    `${rate(perSecond("admitted"))} requests/s`,
    `${rate(perSecond("refused"))} refused/s`,
    `${formatCount(inFlight)} in flight`,
    `${tokens === null ? "-" : formatCount(Math.round(tokens * 60))} tokens/min`,
    `${spentTodayUsd === null ? "-" : formatUsd(spentTodayUsd, 2)} today`,
    ...(storeFailing === null ? ["store ok"] : []),
  ];
  return parts.reduce((line, part) =>
    displayWidth(line) + 2 + displayWidth(part) > columns ? line : `${line}  ${part}`,
  );
}

function tabLine({ tab, filter, sort }: TopState): string {
  const names = tabs.map((name) => (name === tab ? `[${name}]` : ` ${name} `)).join(" ");
  return `${names}  by ${sort}${filter === "" ? "" : `  with "${filter}"`}`;
}

function footLine({ mode, filter, message }: TopState): string {
  if (mode === "filter") return `filter: ${filter}_`;
  if (mode === "reset") return "reset the counters of the marked line? y/n";
  if (mode === "help") return "any key goes back";
  return message === ""
    ? "q quit  Tab next  s sort  / filter  p pause  r reset  e explain  ? help"
    : message;
}

const help = [
  "keys",
  "q, Ctrl-C    quit",
  "Tab          rules, budgets, today's usage by path and provider, in flight, refusals",
  "up, down     mark a line",
  "s            the fullest first, or by name",
  "/            show lines with a text in them; Esc forgets it",
  "p            pause",
  "r            reset the counters of the marked rule or budget; asks",
  "e            the command that explains the marked line",
];

function tableLines(state: TopState, data: TopData, width: number): readonly string[] {
  const rows = rowsOf(state, data);
  const columns = columnsOf(state.tab, data.serverMs);
  const view = { width: width - 1, colour: false, isScreen: true };
  const lines = renderTable(columns, rows, view).split("\n");
  return rows.length === 0 ? [...lines, "nothing"] : lines;
}

function rowsOf({ tab, filter, sort }: TopState, { items }: TopData): readonly ListedLimit[] {
  const text = filter.toLowerCase();
  const matching = items.filter((item) =>
    JSON.stringify(Object.values(item)).toLowerCase().includes(text),
  );
  if (tab === "refusals" || tab === "in flight") return matching;
  if (tab === "paths" || tab === "providers") return [...matching].sort(usageOrder[sort]);
  return sort === "use" ? [...matching].sort((a, b) => usedShare(b) - usedShare(a)) : matching;
}

/** Today's usage: highest cost first, then most tokens, then by name. */
const usageOrder: Readonly<Record<TopState["sort"], (a: ListedLimit, b: ListedLimit) => number>> = {
  use: (a, b) =>
    numberIn(b, "total_cost") - numberIn(a, "total_cost") ||
    numberIn(b, "total_tokens") - numberIn(a, "total_tokens") ||
    usageOrder.name(a, b),
  name: (a, b) => (String(a["key"]) < String(b["key"]) ? -1 : 1),
};

function numberIn(item: ListedLimit, field: string): number {
  const value = item[field];
  return typeof value === "number" ? value : 0;
}

function columnsOf(tab: Tab, nowMs: number): readonly Column<ListedLimit>[] {
  switch (tab) {
    case "rules":
      return [used, ...ruleColumns(nowMs)];
    case "budgets":
      return budgetColumns(nowMs);
    case "paths":
      return [textColumn("PATH", "key"), ...usageColumns];
    case "providers":
      return [textColumn("PROVIDER", "key"), ...usageColumns];
    case "in flight":
      return [
        textColumn("PATH", "user_path"),
        textColumn("TARGET", "target"),
        {
          title: "FOR",
          align: "right",
          text: ({ seconds }) => (typeof seconds === "number" ? formatDuration(seconds) : "-"),
        },
        textColumn("SINCE", "admitted_at"),
      ];
    case "refusals":
      return [
        textColumn("AT", "refused_at"),
        textColumn("PATH", "user_path"),
        textColumn("MODEL", "model"),
        {
          title: "WHY",
          align: "left",
          text: ({ message }) => withCurrency(String(message ?? "-")),
        },
      ];
  }
}

const used: Column<ListedLimit> = {
  title: "USED",
  align: "right",
  text: (item) => (isTemplate(item) ? "-" : `${Math.floor(usedShare(item) * 100)}%`),
};

const usageColumns: readonly Column<ListedLimit>[] = [
  countColumn("REQUESTS TODAY", "requests"),
  countColumn("TOKENS", "total_tokens"),
  {
    title: "COST",
    align: "right",
    text: ({ total_cost: cost }) => (typeof cost === "number" ? formatUsd(cost, 2) : "-"),
  },
];

function countColumn(title: string, field: string): Column<ListedLimit> {
  return { title, align: "right", text: (item) => formatCount(numberIn(item, field)) };
}

function textColumn(title: string, field: string): Column<ListedLimit> {
  return { title, align: "left", text: (item) => String(item[field] ?? "-") };
}

/** Characters that could control the terminal are shown as question marks. */
function withoutControls(line: string): string {
  return line.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}
