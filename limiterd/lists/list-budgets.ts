/**
 * Budgets as the API shows them (docs/reference/admin-api.md): items of the admin list, statuses of
 * GET /v1/usage, and items of explanations. Reading changes nothing.
 */

import type { BudgetItem, BudgetPage, BudgetStatus } from "../../shared/api/budget-item.js";
import type { ExplainedBudget } from "../../shared/api/explanation.js";
import type { SessionBudget, SessionItem } from "../../shared/api/request-item.js";
import { budgetsInert } from "../../shared/config/inert-rule.js";
import {
  type BudgetKey,
  budgetPeriodLabel,
  budgetScopes,
  compareBudgets,
  effectiveBudgetSubject,
  isPerSession,
} from "../../shared/domain/budget.js";
import { calendarBody } from "../../shared/domain/budget-calendar.js";
import { holdField } from "../../shared/domain/hold.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { exhaustedField } from "../../shared/domain/on-exhausted.js";
import { firstAfter } from "../../shared/long-lists.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import { forecastFields } from "../budgets/account-forecast.js";
import {
  type Account,
  amountUsdAt,
  type Budget,
  knownChildOf,
  sessionOf,
  startOf,
} from "../budgets/budget-account.js";
import type { BudgetCaller } from "../budgets/budget-book.js";
import { isRolling, type PeriodBounds } from "../budgets/budget-period.js";
import {
  accountWaitSeconds,
  breachOfAccount,
  isExceeded,
  roomAt,
} from "../budgets/judge-budgets.js";
import { type DaemonState, enforcedBudgets, hasSessionBudgets } from "../state.js";
import { rank, splitRef, templatesOfBudgets, unusedChildrenOnPath } from "./fullest.js";
import {
  childAtQueryPath,
  declaredPlace,
  hasChosen,
  isListed,
  type ListQuery,
  matchesChild,
  orders,
  pageOf,
  placeFields,
  sources,
} from "./list-query.js";
import { raisesField } from "./raise-items.js";
import { hasUsage, money, peekedBook, usageRatio } from "./spend/budget-money.js";

/** The filters of the list. */
export const budgetChoices = { scope: budgetScopes, source: sources, order: orders } as const;

/** One page of all budgets in the order scope, subject, period, models; see `listRules`. */
export function listBudgets(state: DaemonState, query: ListQuery, nowMs: number): BudgetPage {
  const { items, last } = budgetsOn(state, query);
  return {
    budgets: items.map((budget) => {
      const child = childOnQueryPath(budget, query);
      return child === null
        ? listItem(state, budget, nowMs)
        : listedChild(state, { budget, account: knownChildOf(budget, child) }, nowMs);
    }),
    server_time: formatMillis(nowMs),
    next: last?.id ?? null,
  };
}

/** As `listBudgets`, but first reads the other hosts' spend from these budgets. */
export async function listFreshBudgets(
  state: DaemonState,
  query: ListQuery,
  nowMs: number,
): Promise<BudgetPage> {
  const accounts = budgetsOn(state, query).items.flatMap((budget) => {
    const child = childOnQueryPath(budget, query);
    return child === null ? (budget.own ?? []) : [knownChildOf(budget, child)];
  });
  await state.budgets.others?.refresh(accounts);
  return listBudgets(state, query, nowMs);
}

/** As `childAtQueryPath`; null for budgets per session, which have no accounts of children. */
function childOnQueryPath(budget: Budget, query: ListQuery): string | null {
  return isPerSession(budget.definition) ? null : childAtQueryPath(budget, query);
}

function* notPerSession(budgets: Iterable<Budget>): Generator<Budget> {
  for (const budget of budgets) if (!isPerSession(budget.definition)) yield budget;
}

function budgetsOn({ budgets }: DaemonState, query: ListQuery) {
  const sorted = budgets.sorted();
  return pageOf(
    sorted,
    query.after === null ? 0 : firstAfter(sorted, keyOf(query.after), compareBudgets),
    query.limit,
    (budget) => isListed(budget, query) || childOnQueryPath(budget, query) !== null,
  );
}

/** The budgets and the children of templates with the highest ratio, as `listFullestRules`. */
export async function listFullestBudgets(
  state: DaemonState,
  query: ListQuery,
  nowMs: number,
): Promise<BudgetPage> {
  const { budgets } = state.budgets;
  const book = peekedBook(state.budgets);
  const ratio = (ref: string): number | null => {
    const [id, name] = splitRef(ref);
    const budget = budgets.get(id);
    if (budget === undefined) return null;
    if (name === null) {
      if (!isListed(budget, query)) return null;
      return budget.own === null ? 0 : usageRatio(book, budget.own, nowMs);
    }
    const account = matchesChild(query, budget, name) ? budget.children.get(name) : undefined;
    if (account === undefined) return null;
    const used = usageRatio(book, account, nowMs);
    return used === 0 && query.search === "" ? null : used;
  };
  const slices = { nowMs, yieldToEventLoop: state.yieldToEventLoop };
  const templates = templatesOfBudgets(state.budgets, (budget) => hasChosen(budget, query));
  const ranked = { query, limits: budgets, templates };
  const refs = await rank(state.rankings.budgets, ranked, ratio, slices);
  const unused = unusedChildrenOnPath(notPerSession(budgets.values()), query, refs);
  const rows = [...refs, ...unused].flatMap((ref) => {
    const [id, name] = splitRef(ref);
    const budget = budgets.get(id);
    if (budget === undefined) return [];
    return [{ budget, account: name === null ? null : knownChildOf(budget, name) }];
  });
  const accounts = rows.flatMap(({ budget, account }) => account ?? budget.own ?? []);
  await state.budgets.others?.refresh(accounts);
  return {
    budgets: rows.map(({ budget, account }) =>
      account === null
        ? listItem(state, budget, nowMs)
        : listedChild(state, { budget, account }, nowMs),
    ),
    server_time: formatMillis(nowMs),
    next: null,
  };
}

/** A child as an item: its template's definition with its own subject and spend. */
function listedChild(
  state: DaemonState,
  { budget, account }: { readonly budget: Budget; readonly account: Account },
  nowMs: number,
): BudgetItem {
  const { subject } = account;
  return {
    ...listItem(state, budget, nowMs, account.child),
    subject,
    effective_subject: subject,
    user_path: subject,
    template: budget.definition.subject,
    ...money(state, account, nowMs),
    ...forecastFields(state.budgets, account, nowMs),
    has_usage: hasUsage(state.budgets, account, nowMs),
  };
}

/** The key that a page's `next` names. */
function keyOf(after: string): BudgetKey {
  const [scope = "", subject = "", periodSeconds, models] = after.split("\n");
  return {
    scope: budgetScopes.find((candidate) => candidate === scope) ?? "user_path",
    subject,
    periodSeconds: Number(periodSeconds),
    models,
  };
}

/** `child`: lists only the raises that apply to it. */
function listItem(state: DaemonState, budget: Budget, nowMs: number, child?: string): BudgetItem {
  const { scope, subject, periodSeconds, amountUsd, perChild, unpriced, models, rolling } =
    budget.definition;
  const { resetAtMs } = budget;
  const { startMs, endMs } = shownBounds(state, budget, nowMs);
  const inert = budgetsInert(state.settings.usageEnabled);
  return {
    scope,
    subject,
    effective_subject: effectiveBudgetSubject(scope, subject),
    ...(scope === "user_path" ? { user_path: subject } : {}),
    per_child: perChild,
    amount: amountUsd,
    ...(unpriced === undefined ? {} : { unpriced }),
    ...exhaustedField(budget.definition),
    ...holdField(budget.definition),
    // A template has a period, but no account of its own.
    ...(budget.own === null ? { spent: 0, usage_ratio: 0 } : money(state, budget.own, nowMs)),
    period_ratio: Math.min(1, Math.max(0, (nowMs - startMs) / Math.max(1, endMs - startMs))),
    period_label: budgetPeriodLabel(periodSeconds, rolling),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...calendarBody(budget.definition),
    period_start: formatSeconds(startMs),
    period_end: formatSeconds(endMs),
    last_reset_at: resetAtMs === null ? null : formatSeconds(resetAtMs),
    ...(budget.own === null ? {} : forecastFields(state.budgets, budget.own, nowMs)),
    has_usage: budget.own !== null && hasUsage(state.budgets, budget.own, nowMs),
    ...raisesField(budget, nowMs, child),
    ...(inert === null ? {} : { inert }),
    source: budget.source,
    ...declaredPlace(budget, { file: state.settings.configFile, section: "budgets" }),
    ...overridden(state, budget),
    created_at: formatSeconds(budget.createdAtMs),
    updated_at: formatSeconds(budget.updatedAtMs),
  };
}

/** The period as lists show it: a rolling budget's ends now. */
function shownBounds({ budgets }: DaemonState, budget: Budget, nowMs: number): PeriodBounds {
  const bounds = budgets.boundsOf(budget, nowMs);
  return {
    startMs: startOf(budget, bounds, nowMs),
    endMs: isRolling(budget.definition) ? nowMs : bounds.endMs,
  };
}

/** The field for the session of an account; empty if the budget isn't per session. */
export function sessionField(account: Account): { readonly session?: string } {
  const session = sessionOf(account);
  return session === null ? {} : { session };
}

/** The session's budget with the least money left; empty if it has none. */
export function sessionBudget(
  state: DaemonState,
  { user_path: userPath, session }: Pick<SessionItem, "user_path" | "session">,
  nowMs: number,
): Pick<SessionItem, "budget"> {
  if (!hasSessionBudgets(state)) return {};
  const budgets = accountsOfCaller(state, { userPath, session }, [], nowMs)
    .filter(({ budget }) => isPerSession(budget.definition))
    .map((account): SessionBudget => {
      const { spent, remaining } = money(state, account, nowMs);
      return { amount: amountUsdAt(account, nowMs), spent, remaining };
    })
    .sort((a, b) => a.remaining - b.remaining);
  return budgets[0] === undefined ? {} : { budget: budgets[0] };
}

/** The configuration's budget that a manual budget overrides. */
function overridden(
  { declared: all, settings }: DaemonState,
  budget: Budget,
): Pick<BudgetItem, "overrides"> {
  const inConfig = budget.source === "manual" ? all.budgets.get(budget.id) : null;
  if (inConfig === null) return {};
  const { amountUsd, perChild, unpriced } = inConfig.definition;
  const where = { file: settings.configFile, section: "budgets" };
  return {
    overrides: {
      ...placeFields(inConfig.definition, inConfig.at, where),
      per_child: perChild,
      amount: amountUsd,
      ...(unpriced === undefined ? {} : { unpriced }),
      ...exhaustedField(inConfig.definition),
      ...holdField(inConfig.definition),
      ...calendarBody(inConfig.definition),
    },
  };
}

/**
 * The budgets that apply to a caller with these labels, for GET /v1/usage; none while
 * budgets are disabled.
 */
export function budgetStatuses(
  state: DaemonState,
  caller: BudgetCaller,
  labels: readonly string[],
  nowMs: number,
): readonly BudgetStatus[] {
  return accountsOfCaller(state, caller, labels, nowMs).map((account) =>
    statusOf(state, account, nowMs),
  );
}

/** In a cluster, reads again the other hosts' spend on these budgets. */
export async function refreshStatuses(
  state: DaemonState,
  caller: BudgetCaller,
  labels: readonly string[],
  nowMs: number,
): Promise<void> {
  await state.budgets.others?.refresh(accountsOfCaller(state, caller, labels, nowMs));
}

/** Copies of the accounts, in the order of all lists. */
function accountsOfCaller(
  { budgets: book, settings }: DaemonState,
  caller: BudgetCaller,
  labels: readonly string[],
  nowMs: number,
): Account[] {
  if (!settings.budgetsEnabled) return [];
  // Budgets of providers and models aren't only this caller's.
  const forModels = book
    .copyForModels(null, caller, nowMs)
    .filter(({ budget }) => budget.definition.scope === "user_path");
  return [...book.copy(caller, labels, nowMs), ...forModels].sort((a, b) =>
    compareBudgets(a.budget.definition, b.budget.definition),
  );
}

function statusOf(state: DaemonState, account: Account, nowMs: number): BudgetStatus {
  const { budget, child } = account;
  const { scope, periodSeconds, perChild, unpriced, models, rolling } = budget.definition;
  const { startMs, endMs } = shownBounds(state, account.budget, nowMs);
  const resetMs = roomAt(state.budgets, account, nowMs) - nowMs;
  const inert = budgetsInert(state.settings.usageEnabled);
  return {
    scope,
    subject: account.subject,
    ...sessionField(account),
    ...(scope === "user_path" ? { user_path: account.subject } : {}),
    per_child: perChild,
    amount: amountUsdAt(account, nowMs),
    ...(unpriced === undefined ? {} : { unpriced }),
    ...exhaustedField(budget.definition),
    ...holdField(budget.definition),
    ...money(state, account, nowMs),
    exceeded: isExceeded(state.budgets, account, nowMs),
    period_label: budgetPeriodLabel(periodSeconds, rolling),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...calendarBody(account.budget.definition),
    period_start: formatSeconds(startMs),
    period_end: formatSeconds(endMs),
    resets_in_seconds: Math.max(1, Math.ceil(resetMs / 1000)),
    ...forecastFields(state.budgets, account, nowMs),
    ...raisesField(budget, nowMs, child),
    ...(inert === null ? {} : { inert }),
  };
}

/**
 * The budgets that apply to a request, for `explain`. `retry_after` is 0 for a budget that has
 * money left or isn't enforced.
 */
export function explainBudgets(
  state: DaemonState,
  caller: BudgetCaller,
  labels: readonly string[],
  nowMs: number,
): readonly ExplainedBudget[] {
  const enforced = enforcedBudgets(state);
  return accountsOfCaller(state, caller, labels, nowMs).map((account) => {
    const { definition, source } = account.budget;
    const hasNoRoom = enforced?.hasNoRoom(account) === true;
    return {
      ...statusOf(state, account, nowMs),
      ...(definition.perChild || isPerSession(definition) ? { template: definition.subject } : {}),
      source,
      ...(hasNoRoom ? { breached: ["children"] } : {}),
      retry_after: Math.max(
        hasNoRoom ? accountWaitSeconds : 0,
        enforced !== null && isExceeded(enforced, account, nowMs)
          ? breachOfAccount(enforced, account, nowMs).waitSeconds
          : 0,
      ),
    };
  });
}
