/**
 * Notes which rules and budgets the configuration declares, and where: once the rules are in
 * memory, and in slices, since there may be 100,000.
 */
import { windowsPerSlice } from "../../shared/bounds.js";
import { budgetId } from "../../shared/domain/budget.js";
import { type DeclaredAt, ruleId } from "../../shared/domain/rule.js";
import { Turns } from "../../shared/long-lists.js";
import type { DaemonState } from "../state.js";

/** Of each rule and each budget of the configuration, in their order. */
export interface DeclaredPlaces {
  readonly rules: readonly DeclaredAt[];
  readonly budgets: readonly DeclaredAt[];
}

/** Resolved: all are noted, or the daemon stops. */
export async function placeDeclared(state: DaemonState): Promise<void> {
  const { rules, budgets } = state.declared;
  for (const [i, definition] of budgets.all.entries()) {
    const id = budgetId(definition);
    const budget = state.budgets.budgets.get(id);
    budgets.note(budget?.id ?? id, i);
    if (budget?.source === "config") budget.declaredAt = budgets.at(i);
  }
  const turns = new Turns(windowsPerSlice);
  for (const [i, definition] of rules.all.entries()) {
    const id = ruleId(definition);
    const rule = state.book.rules.get(id);
    // The rule's own id, so that the text is kept once.
    rules.note(rule?.id ?? id, i);
    if (rule?.source === "config") rule.declaredAt = rules.at(i);
    if (turns.isOver()) await state.yieldToEventLoop();
    if (state.stopping) return;
  }
}
