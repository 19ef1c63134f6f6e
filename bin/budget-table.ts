/** Which budgets are shown, and how. Pure; the budgets are the API's own objects. */
import type { BudgetKey } from "../shared/budget.js";
import type { BudgetList, ListedBudget } from "./list-budgets.js";
import { untilReset } from "./rule-table.js";
import { type Column, renderTable } from "./table.js";

const columns: readonly Column[] = [
  { title: "SCOPE", align: "left" },
  { title: "SUBJECT", align: "left" },
  { title: "PERIOD", align: "left" },
  { title: "SPENT", align: "right" },
  { title: "AMOUNT", align: "right" },
  { title: "USED", align: "right" },
  { title: "ENDS IN", align: "right" },
  { title: "SOURCE", align: "left" },
];

/** The table of `budgets list`, and below it why they do nothing, if they don't; one sentence when there is nothing to show. */
export function renderBudgets(list: BudgetList): string {
  if (list.budgets.length === 0) return "no budgets";
  const nowMs = Date.parse(list.server_time);
  const inert = new Set(list.budgets.flatMap(({ inert: reason }) => (typeof reason === "string" ? [reason] : [])));
  return [renderTable(columns, list.budgets.map((budget) => budgetRow(budget, nowMs))), ...[...inert].map((reason) => `inert: ${reason}`)].join("\n");
}

/** The budgets that a caller with this path meets, or of one scope; null where it isn't narrowed. */
export function filterBudgets(list: BudgetList, { scope, path }: { readonly scope: string | null; readonly path: string | null }): BudgetList {
  return { ...list, budgets: list.budgets.filter((budget) => (scope === null || budget["scope"] === scope) && (path === null || covers(budget, path))) };
}

/** The budgets on one subject, or the one budget of a key. */
export function budgetsOn(list: BudgetList, key: Pick<BudgetKey, "scope" | "subject"> & { readonly periodSeconds?: number }): BudgetList {
  return { ...list, budgets: list.budgets.filter((budget) => budget["scope"] === key.scope && budget["subject"] === key.subject && (key.periodSeconds === undefined || budget["period_seconds"] === key.periodSeconds)) };
}

/** A template's own path isn't covered by it, only what lies below. */
function covers(budget: ListedBudget, path: string): boolean {
  const subject = budget["subject"];
  if (budget["scope"] !== "user_path" || typeof subject !== "string") return false;
  return path === subject ? budget["per_child"] !== true : path.startsWith(subject === "/" ? "/" : `${subject}/`);
}

function budgetRow(budget: ListedBudget, nowMs: number): readonly string[] {
  const template = budget["per_child"] === true;
  const ratio = budget["usage_ratio"];
  return [
    String(budget["scope"]),
    template ? `${String(budget["subject"])} (each child)` : String(budget["subject"]),
    String(budget["period_label"]),
    template ? "-" : formatUsd(budget["spent"]),
    formatUsd(budget["amount"]),
    template || typeof ratio !== "number" ? "-" : `${Math.floor(ratio * 100)}%`,
    untilReset(budget["period_end"], nowMs),
    String(budget["source"] ?? "-"),
  ];
}

/** US dollars with two decimals, or with as many as it has. */
export function formatUsd(usd: unknown): string {
  if (typeof usd !== "number") return "-";
  const exact = String(usd);
  const twoDecimals = usd.toFixed(2);
  return `$${Number(twoDecimals) === usd ? twoDecimals : exact}`;
}
