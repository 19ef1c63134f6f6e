/** Makes and applies the definitions of rules. */
import { inertRule } from "../../../shared/config/inert-rule.js";
import { type RuleDefinition, type RuleKey, ruleId } from "../../../shared/domain/rule.js";
import { allRules, type Definition, definitionOf } from "../../cluster/definitions/definition.js";
import type { Rule } from "../../counters/counter.js";
import {
  resetAllChange,
  ruleChange,
  ruleFromStored,
  ruleRemovals,
  rulesNoteChange,
} from "../../rules/stored-rule.js";
import type { DaemonState } from "../../state.js";
import type { Change } from "../../store/store.js";
import { dropRaises } from "./apply-raises.js";
import type { Applying } from "./applying.js";

/**
 * The definitions of a rule that an operation makes or edits; it replaces `existing`. A new rule
 * comes with a reset, so that it starts to count on every host.
 */
export function ruleDefinitions(
  definition: RuleDefinition,
  existing: Pick<Rule, "createdAtMs" | "definition"> | null,
  nowMs: number,
): readonly Definition[] {
  const id = ruleId(definition);
  const times = { createdAtMs: existing?.createdAtMs ?? nowMs, updatedAtMs: nowMs, sinceLsn: 0 };
  const rule = definitionOf("rules", ruleChange({ id, definition, source: "manual", ...times }));
  return existing?.definition.perChild === definition.perChild
    ? [rule]
    : [rule, ruleReset(id, nowMs)];
}

/** The deletion of a rule. */
export function ruleDeletions(rule: RuleKey): readonly Definition[] {
  const key = ruleId(rule);
  return [
    { kind: "rules", key, value: null },
    { kind: "rule_resets", key, value: null },
  ];
}

/** The definition that reverts an edited rule to the configuration's. */
export function ruleReversion({ id, definition, createdAtMs }: Rule, nowMs: number): Definition {
  const times = { createdAtMs, updatedAtMs: nowMs, sinceLsn: 0 };
  return definitionOf("rules", ruleChange({ id, definition, source: "config", ...times }));
}

/** A reset of a rule, or of `allRules`. */
export function ruleReset(key: string, nowMs: number): Definition {
  return { kind: "rule_resets", key, value: [nowMs] };
}

/** The definitions that enforce a shadow rule; it keeps its windows. */
export function ruleEnforcement(
  shadow: RuleKey,
  definition: RuleDefinition,
  existing: Pick<Rule, "createdAtMs" | "definition"> | null,
  nowMs: number,
): readonly Definition[] {
  const [rule] = ruleDefinitions(definition, existing, nowMs);
  return [rule!, ...ruleDeletions(shadow)];
}

/** Applies a definition. Returns null, or what is wrong with it. */
export function applyRule(
  state: DaemonState,
  { key: id, value }: Definition,
  applying: Applying,
): string | null {
  const before = state.book.ruleSet.get(id);
  const flaw = putRule(state, { id, value }, applying);
  dropRaises(state, "rule_raises", before, applying);
  return flaw;
}

function putRule(
  state: DaemonState,
  { id, value }: { readonly id: string; readonly value: Definition["value"] },
  applying: Applying,
): string | null {
  const { book } = state;
  if (value === null) {
    removeRule(state, id, applying);
    return null;
  }
  const stored = ruleFromStored(value);
  if (stored === null || ruleId(stored.definition) !== id) return "it is no rule";
  if (stored.source === "config") {
    // Another host has reverted the rule to its configuration. If this host's configuration doesn't
    // have the rule, the rule is removed.
    if (!putBackRule(state, id, applying)) removeRule(state, id, applying);
    return null;
  }
  const { definition, createdAtMs, updatedAtMs } = stored;
  const shadow = enforcedShadow(state, definition, applying);
  const lsn = shadow?.sinceLsn ?? applying.lsn;
  const writing = { createdAtMs, nowMs: updatedAtMs, lsn };
  const rule = book.put(definition, { source: "manual", ...writing });
  if (shadow !== null) book.takeWindows(rule, shadow);
  noteRule(state, rule, applying);
  return null;
}

/**
 * The shadow rule with this rule's key if the same change deletes it: then the change enforces it,
 * and the enforced rule takes over its windows.
 */
function enforcedShadow(
  { book }: DaemonState,
  definition: RuleDefinition,
  { deletedRules }: Applying,
): Rule | null {
  if (definition.mode !== undefined || deletedRules.size === 0) return null;
  const key: RuleKey = { ...definition, mode: "shadow" };
  const shadow = deletedRules.has(ruleId(key)) ? book.find(key) : null;
  return shadow?.definition.perChild === definition.perChild ? shadow : null;
}

/** Notes the changes that follow from a rule that was made or edited. */
function noteRule(
  { settings, inertRules, onInert }: DaemonState,
  rule: Rule,
  applying: Applying,
): void {
  const inert = settings.inertReason(rule.definition);
  if (inert === null) inertRules.delete(rule.id);
  else {
    inertRules.add(rule.id);
    onInert(inertRule(rule.definition, inert));
  }
  applying.changes.push(ruleChange(rule));
}

/**
 * Replaces an edited rule with the configuration's and keeps its counters. Returns false if the
 * configuration has none.
 */
function putBackRule(state: DaemonState, id: string, applying: Applying): boolean {
  const { book, declared } = state;
  const inConfig = book.ruleSet.get(id)?.source === "manual" ? declared.rules.find(id) : null;
  if (inConfig === null) return false;
  const { nowMs, lsn } = applying;
  const rule = book.put(inConfig.definition, { source: "config", nowMs, lsn });
  rule.declaredAt = inConfig.at;
  noteRule(state, rule, applying);
  return true;
}

function removeRule(state: DaemonState, id: string, applying: Applying): void {
  const { book, configured, declared, inertRules } = state;
  const existing = book.ruleSet.get(id);
  if (existing === undefined) return;
  const { definition } = existing;
  book.delete(definition);
  inertRules.delete(id);
  if (configured.applied !== "" && declared.rules.find(id) !== null) configured.applied = "";
  for (const change of ruleRemovals(existing)) applying.changes.push(change);
}

/** Applies a reset; a rule that doesn't exist has nothing to reset. */
export function applyRuleReset(
  { book }: DaemonState,
  { key: id, value }: Definition,
  { lsn, changes }: Applying,
): null {
  if (value === null) return null;
  if (id === allRules) {
    // The store has one lsn for all rules: windows up to it are stale.
    book.resetAll(lsn);
    changes.push(resetAllChange(lsn));
    return null;
  }
  const existing = book.ruleSet.get(id);
  if (existing === undefined) return null;
  const rule = book.fresh(existing);
  book.reset(rule, lsn);
  changes.push(ruleChange(rule));
  return null;
}

/** The change that notes the present rules for the next start. */
export function noteOfRules({ book, configured, epochs }: DaemonState): Change {
  const { startLsn } = epochs;
  return rulesNoteChange(book.ruleSet, { startLsn, configured: configured.applied });
}
