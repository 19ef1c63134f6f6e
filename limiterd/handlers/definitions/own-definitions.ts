/** What a host has defined without the others: what it brings along when it joins them. */
import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import type { OwnDefinition } from "../../cluster/definitions/plan-reconciling.js";
import { denialChange } from "../../keys/jwt-denials.js";
import { keyChange } from "../../keys/stored-key.js";
import { ruleChange } from "../../rules/stored-rule.js";
import type { DaemonState } from "../../state.js";
import { anchorsDefinition, budgetDefinition } from "./apply-budgets.js";

/** Rules and budgets of the configuration are each host's own, and so aren't among them. */
export function ownDefinitions({ book, budgets, keys, denials }: DaemonState): OwnDefinition[] {
  const own: OwnDefinition[] = [];
  for (const rule of book.sorted()) {
    if (rule.source !== "manual") continue;
    const { value } = ruleChange({ ...rule, id: rule.id, sinceLsn: 0 });
    own.push({ kind: "rules", key: rule.id, value: value ?? null, changedAtMs: rule.updatedAtMs });
  }
  for (const budget of budgets.sorted()) {
    if (budget.source !== "manual") continue;
    const changedAtMs = budget.updatedAtMs;
    own.push({ ...budgetDefinition(budget.definition, budget, changedAtMs), changedAtMs });
  }
  for (const key of keys.all()) {
    const { value } = keyChange(key);
    own.push({ kind: "keys", key: String(key.number), value: value ?? null, changedAtMs: 0 });
  }
  for (const denial of denials.all()) {
    const { key, value } = denialChange(denial);
    const changedAtMs = denial.deniedAtMs;
    own.push({ kind: "denials", key: String(key), value: value ?? null, changedAtMs });
  }
  const anchors = anchorsDefinition(budgets.anchors);
  if (JSON.stringify(anchors) !== JSON.stringify(anchorsDefinition(defaultAnchors)))
    own.push({ ...anchors, changedAtMs: 0 });
  return own;
}
