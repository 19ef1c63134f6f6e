/**
 * The tables of budgets, in a list and in an explanation. Pure; the budgets are the objects of the
 * admin API.
 */
import { isObject } from "../../shared/checked.js";
import { spentElsewhereText } from "../../shared/usage/hosts-text.js";
import { plainUsd } from "../text/number-text.js";
import { type Column, renderTable } from "../text/table.js";
import type { LimitList, Listed } from "./list-limits.js";
import {
  isTemplate,
  overrideLines,
  raisedValue,
  raiseLines,
  sourceText,
  subjectText,
  untilExhausted,
  untilReset,
} from "./rule-table.js";

/** The columns that every table of budgets has. */
export function budgetColumns(nowMs: number): readonly Column<Listed>[] {
  return [
    { title: "SCOPE", align: "left", text: (budget) => String(budget["scope"]) },
    { title: "SUBJECT", align: "left", text: subjectText },
    { title: "PERIOD", align: "left", text: (budget) => String(budget["period_label"]) },
    {
      title: "SPENT",
      align: "right",
      text: (budget) => (isTemplate(budget) ? "-" : plainUsd(budget["spent"])),
    },
    { title: "AMOUNT", align: "right", text: amountText },
    { title: "USED", align: "right", text: usedRatio },
    { title: "RUNS OUT", align: "right", text: (budget) => runsOut(budget, nowMs) },
    {
      title: "ENDS IN",
      align: "right",
      // A rolling budget has no end.
      text: (budget) =>
        budget["rolling"] === true ? "-" : untilReset(budget["period_end"], nowMs),
    },
  ];
}

/** The table of `budgets list`, and below it why budgets are inert, if they are. */
export function renderBudgets({ items, serverTime }: LimitList): string {
  if (items.length === 0) return "no budgets";
  const columns: readonly Column<Listed>[] = [
    ...budgetColumns(Date.parse(serverTime)),
    { title: "SOURCE", align: "left", text: sourceText },
  ];
  const reasons = new Set(items.flatMap(({ inert }) => (typeof inert === "string" ? [inert] : [])));
  return [
    renderTable(columns, items),
    ...raiseLines(items),
    ...spentElsewhereLines(items),
    ...[...reasons].map((reason) => `inert: ${reason}`),
    ...overrideLines(items, {
      command: "budgets",
      declaredText: ({ amount }) => plainUsd(amount),
    }),
  ].join("\n");
}

/** How old it is what other hosts have spent, where hosts share budgets. */
export function spentElsewhereLines(budgets: readonly Listed[]): readonly string[] {
  const text = spentElsewhereText(
    budgets.map(({ other_hosts: others }) => {
      const age = isObject(others) ? others["age_seconds"] : undefined;
      if (age === undefined) return {};
      return { other_hosts: { age_seconds: typeof age === "number" ? age : null } };
    }),
  );
  return text === null ? [] : [text];
}

/** With what was carried over. */
function amountText(budget: Listed): string {
  const { carried_over: carried } = budget;
  const amount = raisedValue(budget, "amount");
  return typeof carried === "number" && carried > 0 && typeof amount === "number"
    ? `${plainUsd(amount)} + ${plainUsd(carried)}`
    : plainUsd(amount);
}

function usedRatio(budget: Listed): string {
  const ratio = budget["usage_ratio"];
  if (isTemplate(budget) || typeof ratio !== "number") return "-";
  return ratio >= 100 ? ">9999%" : `${Math.floor(ratio * 100)}%`;
}

function runsOut(budget: Listed, nowMs: number): string {
  const { forecast } = budget;
  if (isTemplate(budget) || !isObject(forecast)) return "-";
  return untilExhausted(forecast["exhausts_at"], nowMs);
}
