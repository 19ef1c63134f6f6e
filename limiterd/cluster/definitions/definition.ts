/**
 * What admin operations define, as values: each has a key among those of its kind, and what the
 * store keeps of it, without what belongs to one host alone. All that an operation changes is such
 * a list, so that it can be applied on every host in the same way.
 */

import type { Change } from "../../store/store.js";

/** In the order in which they are applied: a reset follows what it resets. */
export const definitionKinds = [
  "rules",
  "rule_resets",
  "settings",
  "budgets",
  "budget_resets",
  "keys",
  "denials",
] as const;
type DefinitionKind = (typeof definitionKinds)[number];

export interface Definition {
  readonly kind: DefinitionKind;
  /** As in the table of this kind: the id of a rule or budget, a key's number as a text. */
  readonly key: string;
  /** Null: it is deleted. */
  readonly value: readonly unknown[] | null;
}

/** The definition that makes this change of the store on every host. */
export function definitionOf(kind: DefinitionKind, { key, value }: Change): Definition {
  return { kind, key: String(key), value: value ?? null };
}

/** As the key of a reset: of all rules. */
export const allRules = "*";

/** What an admin operation wants to do, judged by what is known now. */
export interface Proposal {
  readonly definitions: readonly Definition[];
  /** The answer, once they are applied. */
  answer(): unknown;
}
