/**
 * Definitions: the rules, budgets, keys and so on that admin operations define, as plain values. A
 * definition has a key, unique among its kind, and the value that the store keeps, without what
 * belongs to only one host. An operation's changes are a list of definitions, which every host
 * applies in the same way.
 */

import type { Change } from "../../store/store.js";

/** In the order in which a daemon applies them: a reset after the rule that it resets. */
export const definitionKinds = [
  "rules",
  "rule_resets",
  "rule_raises",
  "settings",
  "budgets",
  "budget_resets",
  "budget_raises",
  "keys",
  "denials",
] as const;
type DefinitionKind = (typeof definitionKinds)[number];

export interface Definition {
  readonly kind: DefinitionKind;
  /**
   * The key in the table of this kind: the id of a rule or budget, or a managed key's number as a
   * text.
   */
  readonly key: string;
  /** Null: deleted. */
  readonly value: readonly unknown[] | null;
}

/** The definition that makes this change of the store on every host. */
export function definitionOf(kind: DefinitionKind, { key, value }: Change): Definition {
  return { kind, key: String(key), value: value ?? null };
}

/** The key of a reset of all rules. */
export const allRules = "*";

/** The changes of an admin operation, checked against the current definitions. */
export interface Proposal {
  readonly definitions: readonly Definition[];
  /** The operation's answer, once the definitions are applied. */
  answer(): unknown;
}

/** A proposal with its entries in the audit log. */
export interface AuditedProposal extends Proposal {
  /** Call it right before the definitions are applied; their commit has these changes too. */
  audit(): readonly Change[];
}
