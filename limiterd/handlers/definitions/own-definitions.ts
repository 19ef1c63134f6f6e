/** What a host has defined without the others: what it brings along when it joins them. */
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import type { OwnDefinition } from "../../cluster/definitions/plan-reconciling.js";
import { ruleChange } from "../../rules/stored-rule.js";
import type { DaemonState } from "../../state.js";
import { anchorsDefinition, budgetDefinition } from "./apply-budgets.js";
import { denialDefinition, keyDefinition } from "./apply-credentials.js";
import { definitionOf } from "./definition-of.js";

/** Rules and budgets of the configuration are each host's own, and so aren't among them. */
export function ownDefinitions({ book, budgets, keys, denials }: DaemonState): OwnDefinition[] {
  const own: OwnDefinition[] = [];
  for (const rule of book.sorted()) {
    if (rule.source !== "manual") continue;
    const change = ruleChange({ ...rule, id: rule.id, sinceLsn: 0 });
    own.push({ ...definitionOf("rules", change), changedAtMs: rule.updatedAtMs });
  }
  for (const budget of budgets.sorted()) {
    if (budget.source !== "manual") continue;
    const changedAtMs = budget.updatedAtMs;
    own.push({ ...budgetDefinition(budget.definition, budget, changedAtMs), changedAtMs });
  }
  for (const key of keys.all()) own.push({ ...keyDefinition(key), changedAtMs: 0 });
  for (const denial of denials.all())
    own.push({ ...denialDefinition(denial), changedAtMs: denial.deniedAtMs });
  const anchors = anchorsDefinition(budgets.anchors);
  if (JSON.stringify(anchors) !== JSON.stringify(anchorsDefinition(defaultAnchors)))
    own.push({ ...anchors, changedAtMs: 0 });
  return own;
}
