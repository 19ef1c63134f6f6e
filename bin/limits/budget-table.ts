/**
 * The tables of budgets, in a list and in an explanation. Pure; the budgets are the objects of the
 * admin API.
 */
import { isObject } from "../../shared/checked.js";
import { spentElsewhereText } from "../../shared/usage/hosts-text.js";
import { plainUsd, spentText } from "../text/number-text.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";
import { toneOfShare } from "../text/tone.js";
import { isOfSessions, type LimitList, type ListedLimit } from "./list-limits.js";
import {
  isTemplate,
  overrideLines,
  raisedValue,
  raiseLines,
  sourceText,
  subjectText,
  toneOfEnd,
  untilExhausted,
  untilReset,
} from "./rule-table.js";

/** The columns that every table of budgets has. */
export function budgetColumns(nowMs: number): readonly Column<ListedLimit>[] {
  return [
    { title: "SCOPE", detail: true, align: "left", text: (budget) => String(budget["scope"]) },
    { title: "SUBJECT", align: "left", text: subjectText },
    { title: "PERIOD", align: "left", text: (budget) => String(budget["period_label"]) },
    { title: "SPENT / AMOUNT", align: "right", text: amountText },
    {
      title: "USED",
      align: "right",
      text: usedRatio,
      tone: (budget) => toneOfShare(Number(budget["usage_ratio"] ?? 0)),
    },
    {
      title: "RUNS OUT",
      align: "right",
      text: (budget) => runsOut(budget, nowMs),
      tone: ({ forecast }) => toneOfEnd(isObject(forecast) ? forecast["exhausts_at"] : null, nowMs),
    },
    {
      title: "ENDS IN",
      detail: true,
      align: "right",
      // A rolling budget and a session have no end.
      text: (budget) =>
        budget["rolling"] === true || isOfSessions(budget)
          ? "-"
          : untilReset(budget["period_end"], nowMs),
    },
  ];
}

/** The table of `budgets list`, and below it why budgets are inert, if they are. */
export function renderBudgets(
  { items, serverTime }: LimitList,
  view: TableView = plainView,
): string {
  if (items.length === 0) return "no budgets";
  const columns: readonly Column<ListedLimit>[] = [
    ...budgetColumns(Date.parse(serverTime)),
    { title: "SOURCE", detail: true, align: "left", text: sourceText },
  ];
  const reasons = new Set(items.flatMap(({ inert }) => (typeof inert === "string" ? [inert] : [])));
  return [
    renderTable(columns, items, view),
    ...raiseLines(items),
    ...spentElsewhereLines(items),
    ...[...reasons].map((reason) => `inert: ${reason}`),
    ...overrideLines(items, {
      command: "budgets",
      declaredText: ({ amount }) => plainUsd(amount),
    }),
  ].join("\n");
}

/** How old the reported spend of other hosts is, if hosts share budgets. */
export function spentElsewhereLines(budgets: readonly ListedLimit[]): readonly string[] {
  const text = spentElsewhereText(
    budgets.map(({ other_hosts: otherHosts }) => {
      const age = isObject(otherHosts) ? otherHosts["age_seconds"] : undefined;
      if (age === undefined) return {};
      return { other_hosts: { age_seconds: typeof age === "number" ? age : null } };
    }),
  );
  return text === null ? [] : [text];
}

/** The amount, with what was carried over and what running requests hold. */
function amountText(budget: ListedLimit): string {
  const { spent, carried_over: carriedOver, held } = budget;
  const amount = raisedValue(budget, "amount");
  return spentText({ spent: isTemplate(budget) ? null : spent, amount, carriedOver, held });
}

function usedRatio(budget: ListedLimit): string {
  const ratio = budget["usage_ratio"];
  if (isTemplate(budget) || typeof ratio !== "number") return "-";
  return ratio >= 100 ? ">9999%" : `${Math.floor(ratio * 100)}%`;
}

function runsOut(budget: ListedLimit, nowMs: number): string {
  const { forecast } = budget;
  if (isTemplate(budget)) return "-";
  if (!isObject(forecast)) {
    const { forecast_from: from } = budget;
    return typeof from === "string" ? `known in ${untilExhausted(from, nowMs)}` : "-";
  }
  return untilExhausted(forecast["exhausts_at"], nowMs);
}
