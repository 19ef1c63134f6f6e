/**
 * The metrics of the children of templates, for GET /metrics/limiter: of the fullest ones alone,
 * because there may be a million. Reading changes nothing.
 */
import { childSeriesMax } from "../../shared/bounds.js";
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { periodLabel } from "../../shared/domain/rule.js";
import { childPath } from "../../shared/domain/user-path.js";
import { limiterMetrics } from "../../shared/metrics/limiter-metrics.js";
import type { ReportedSeries } from "../../shared/metrics/metrics-answer.js";
import type { Rule } from "../counters/counter.js";
import { countersOf } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";
import { rank, splitRef, templatesOfBudgets, templatesOfRules } from "./fullest.js";
import { usedRatio } from "./list-rules.js";
import { money, peekedBook, usageRatio } from "./spend/budget-money.js";

export async function childSeries(state: DaemonState, nowMs: number): Promise<ReportedSeries[]> {
  return [...(await ruleChildren(state, nowMs)), ...(await budgetChildren(state, nowMs))];
}

/** Only children are ranked. */
const limits: ReadonlyMap<string, unknown> = new Map();
const query = { after: null, limit: childSeriesMax, search: "", userPath: "/", chosen: {} };

async function ruleChildren(state: DaemonState, nowMs: number): Promise<ReportedSeries[]> {
  const { book, rankings, settings, yieldToEventLoop } = state;
  if (!settings.rateLimitsEnabled) return [];
  const ratioOf = (ref: string): number | null => {
    const [id, name] = splitRef(ref);
    const rule = book.rules.get(id);
    const child = rule === undefined ? rule : book.copyOfKnown(rule, name ?? "", nowMs);
    return child === undefined ? null : usedRatio(countersOf(child), nowMs) || null;
  };
  const slices = { nowMs, yieldToEventLoop };
  const isEnforced = ({ definition }: Rule): boolean => definition.mode !== "shadow";
  const templates = templatesOfRules(book, isEnforced, nowMs);
  const refs = await rank(rankings.childRules, { query, limits, templates }, ratioOf, slices);
  return refs.flatMap((ref) => {
    const [id, name] = splitRef(ref);
    const rule = book.rules.get(id);
    const ratio = ratioOf(ref);
    if (rule === undefined || ratio === null) return [];
    const { definition } = rule;
    const subject = childPath(definition.subject, name ?? "");
    const template = subjectWithModels({ ...definition, mode: undefined });
    const labels = [subject, template, periodLabel(definition.periodSeconds)];
    return [[limiterMetrics.childRuleUsed.name, labels, [ratio]]];
  });
}

async function budgetChildren(state: DaemonState, nowMs: number): Promise<ReportedSeries[]> {
  const { budgets, rankings, settings, yieldToEventLoop } = state;
  if (!settings.budgetsEnabled) return [];
  const book = peekedBook(budgets);
  const accountOf = (ref: string) => {
    const [id, name] = splitRef(ref);
    return budgets.budgets.get(id)?.children.get(name ?? "");
  };
  const ratioOf = (ref: string): number | null => {
    const account = accountOf(ref);
    return account === undefined ? null : usageRatio(book, account, nowMs) || null;
  };
  const slices = { nowMs, yieldToEventLoop };
  const templates = templatesOfBudgets(budgets, () => true);
  const refs = await rank(rankings.childBudgets, { query, limits, templates }, ratioOf, slices);
  return refs.flatMap((ref): ReportedSeries[] => {
    const account = accountOf(ref);
    if (account === undefined) return [];
    const { definition } = account.budget;
    const period = budgetPeriodLabel(definition.periodSeconds, definition.rolling);
    const labels = [account.subject, subjectWithModels(definition), period];
    const { spent, usage_ratio: ratio } = money(state, account, nowMs);
    return [
      [limiterMetrics.childBudgetSpent.name, labels, [spent]],
      [limiterMetrics.childBudgetUsed.name, labels, [ratio]],
    ];
  });
}
