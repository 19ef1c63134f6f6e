/** Makes and applies the definitions of budgets and of their periods. */
import { budgetsInert, inertBudget } from "../../../shared/config/inert-rule.js";
import { type BudgetDefinition, type BudgetKey, budgetId } from "../../../shared/domain/budget.js";
import { anchorsFromStored, type ResetAnchors } from "../../../shared/domain/reset-anchors.js";
import type { RuleSource } from "../../../shared/domain/rule.js";
import { isMoment } from "../../../shared/time.js";
import type { Budget } from "../../budgets/budget-account.js";
import { spendKeys } from "../../budgets/remove-spends.js";
import {
  anchorsChange,
  anchorsKey,
  budgetChange,
  budgetFromStored,
  resetChange,
} from "../../budgets/stored-budget.js";
import { type Definition, definitionOf } from "../../cluster/definitions/definition.js";
import type { DaemonState } from "../../state.js";
import { dropRaises } from "./apply-raises.js";
import type { Applying } from "./applying.js";

/** The definition of a budget that an operation makes or edits; it replaces `existing`. */
export function budgetDefinition(
  definition: BudgetDefinition,
  existing: Pick<Budget, "createdAtMs"> | null,
  nowMs: number,
  source: RuleSource = "manual",
): Definition {
  const id = budgetId(definition);
  const times = {
    createdAtMs: existing?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
    sinceMs: nowMs,
    sinceKey: 0,
  };
  return definitionOf(
    "budgets",
    budgetChange({ id, definition, source, ...times, isBackfilling: false }),
  );
}

/** The definition that reverts an edited budget to the configuration's. */
export function budgetReversion(existing: Budget, nowMs: number): Definition {
  return budgetDefinition(existing.definition, existing, nowMs, "config");
}

export function budgetDeletion(budget: BudgetKey): Definition {
  return { kind: "budgets", key: budgetId(budget), value: null };
}

/** A reset of the running period of a budget. */
export function budgetReset(id: string, nowMs: number): Definition {
  return { kind: "budget_resets", key: id, value: [nowMs] };
}

export function anchorsDefinition(anchors: ResetAnchors): Definition {
  return definitionOf("settings", anchorsChange(anchors));
}

/** Applies a definition. Returns null, or what is wrong with it. */
export function applyBudget(
  state: DaemonState,
  { key: id, value }: Definition,
  applying: Applying,
): string | null {
  const before = state.budgets.budgets.get(id);
  const flaw = putBudget(state, { id, value }, applying);
  dropRaises(state, "budget_raises", before, applying);
  return flaw;
}

function putBudget(
  state: DaemonState,
  { id, value }: { readonly id: string; readonly value: Definition["value"] },
  applying: Applying,
): string | null {
  const { budgets } = state;
  const existing = budgets.budgets.get(id);
  if (value === null) {
    removeBudget(state, existing, applying);
    return null;
  }
  const stored = budgetFromStored(value);
  if (stored === null || budgetId(stored.definition) !== id) return "it is no budget";
  if (stored.source === "config") {
    if (!putBackBudget(state, existing, applying)) removeBudget(state, existing, applying);
    return null;
  }
  const { definition, createdAtMs, updatedAtMs } = stored;
  const writing = { createdAtMs, nowMs: updatedAtMs };
  const put = budgets.put(definition, { source: "manual", ...writing });
  noteBudget(state, put, existing, applying);
  return null;
}

/** Notes the changes that follow from a budget that was made, edited or replaced. */
function noteBudget(
  { settings, onInert }: DaemonState,
  { budget, isNew }: { readonly budget: Budget; readonly isNew: boolean },
  before: Budget | undefined,
  { changes, stale, incomplete, nowMs }: Applying,
): void {
  if (isNew) {
    budget.sinceMs = nowMs;
    incomplete.push(budget);
    if (before !== undefined) stale.push(spendKeys(before));
  } else changes.push(budgetChange(budget));
  const inert = budgetsInert(settings.usageEnabled);
  if (inert !== null) onInert(inertBudget(budget.definition, inert));
}

/**
 * Replaces an edited budget with the configuration's and keeps its spend. Returns false if the
 * configuration has none.
 */
function putBackBudget(
  state: DaemonState,
  existing: Budget | undefined,
  applying: Applying,
): boolean {
  const declared = existing?.source === "manual" ? state.declared.budgets.find(existing.id) : null;
  if (declared === null) return false;
  const { nowMs } = applying;
  const put = state.budgets.put(declared.definition, { source: "config", nowMs });
  put.budget.declaredAt = declared.at;
  noteBudget(state, put, existing, applying);
  return true;
}

function removeBudget(
  { budgets }: DaemonState,
  existing: Budget | undefined,
  { changes, stale }: Applying,
): void {
  if (existing === undefined) return;
  budgets.delete(existing.definition);
  changes.push({ table: "budgets", key: existing.id, value: undefined });
  stale.push(spendKeys(existing));
}

/** Applies a reset; a budget that doesn't exist has nothing to reset. */
export function applyBudgetReset(
  { budgets }: DaemonState,
  { key: id, value }: Definition,
  { changes }: Applying,
): string | null {
  if (value === null) return null;
  const [atMs] = value;
  if (!isMoment(atMs)) return "it is no reset of a budget";
  const budget = budgets.budgets.get(id);
  if (budget === undefined) return null;
  // Stored accounts apply the reset when they are read.
  budgets.reset(budget, atMs);
  changes.push(resetChange(budget, atMs), budgetChange(budget));
  return null;
}

/**
 * Applies reset anchors. Budgets whose running period gets new bounds look up what was spent in it.
 */
export function applySettings(
  { budgets: book }: DaemonState,
  { key, value }: Definition,
  { nowMs, changes, stale, incomplete }: Applying,
): string | null {
  const anchors = key === anchorsKey && value !== null ? anchorsFromStored(value) : null;
  if (anchors === null) return "it isn't the anchors of budgets";
  changes.push(anchorsChange(anchors));
  for (const budget of book.setAnchors(anchors, nowMs)) {
    stale.push(spendKeys(budget));
    book.clear(budget, nowMs);
    incomplete.push(budget);
  }
  return null;
}
