/**
 * Notes at rules and budgets where the configuration declares them, for lists alone: once the rules
 * are in memory, and in slices, since there may be 100,000.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import type { BudgetDefinition } from "../../shared/domain/budget.js";
import { type DeclaredAt, ruleId } from "../../shared/domain/rule.js";
import type { DaemonState } from "../state.js";

/** Of each rule and each budget of the configuration, in their order. */
export interface DeclaredPlaces {
  readonly rules: readonly DeclaredAt[];
  readonly budgets: readonly DeclaredAt[];
}

interface Declared {
  readonly budgets: readonly BudgetDefinition[];
  readonly declaredAt: DeclaredPlaces;
}

/** Resolved: all are noted, or the daemon stops. One that was made by hand isn't the file's. */
export async function placeDeclared(
  state: DaemonState,
  { budgets, declaredAt }: Declared,
): Promise<void> {
  for (const [i, definition] of budgets.entries()) {
    const budget = state.budgets.find(definition);
    if (budget?.source === "config") budget.declaredAt = declaredAt.budgets[i] ?? null;
  }
  const { rules } = state.configured;
  for (const [i, definition] of rules.entries()) {
    const rule = state.book.rules.get(ruleId(definition));
    if (rule?.source === "config") rule.declaredAt = declaredAt.rules[i] ?? null;
    if ((i + 1) % windowsPerSlice === 0) await state.yieldToEventLoop();
    if (state.stopping) return;
  }
}
