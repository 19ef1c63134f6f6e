/**
 * Restores the rules of the store and applies the configuration's. Not here: their windows
 * (`restore.ts`).
 */
import { hasSameCaps, type RuleDefinition, ruleId } from "../../shared/domain/rule.js";
import { append } from "../../shared/long-lists.js";
import type { Rule } from "../counters/counter.js";
import type { RuleBook } from "../rules/rule-book.js";
import { leftPrefix } from "../rules/rule-set.js";
import {
  type RulesNote,
  ruleChange,
  ruleFromStored,
  ruleRemovals,
  storedRuleId,
} from "../rules/stored-rule.js";
import { type Change, type Entry, type Store, throwMalformed } from "../store/store.js";

interface RestoreOptions {
  /** The note on the stored rules if they are those of the configuration; else null. */
  readonly note: RulesNote | null;
  readonly nowMs: number;
  /** The log sequence number of the last reset of all rules; 0: never. */
  readonly resetLsn: number;
}

/**
 * Restores the rules of the store. With a note, it restores only those on models and providers; the
 * others are loaded lazily. Returns whether each restored rule has its id as its key.
 */
export function restoreRules(
  store: Store,
  book: RuleBook,
  { note, nowMs, resetLsn }: RestoreOptions,
): boolean {
  let areKeysIds = true;
  const restoreRule = ({ key, value }: Entry): void => {
    const rule = ruleFromStored(value) ?? throwMalformed(store, "rules", key);
    const id = storedRuleId(key, rule);
    areKeysIds &&= id === key;
    book.restore({ ...rule, sinceLsn: Math.max(rule.sinceLsn, resetLsn) }, nowMs, id);
  };
  for (const entry of store.entries("rules")) {
    if (note !== null && entry.key >= leftPrefix) break;
    restoreRule(entry);
  }
  if (note === null) return areKeysIds;
  const leftCount = note.count - book.ruleSet.size;
  book.ruleSet.leave(
    {
      store,
      left: leftCount,
      restore: restoreRule,
      hasHard: note.hasHard,
      loopTimes: note.loopTimes,
    },
    { ms: note.sinceMs, lsn: note.sinceLsn },
  );
  return true;
}

/** Compares two definitions with the same identity; `a` always has `hostOnly`. */
function isSameRule(a: RuleDefinition, b: RuleDefinition): boolean {
  return (
    a.subject === b.subject &&
    hasSameCaps(a, b) &&
    a.perChild === b.perChild &&
    a.hostOnly === (b.hostOnly ?? false)
  );
}

/**
 * Removes config rules that are no longer declared, and writes declared ones as `config`. A manual
 * rule with the same key stays as it is.
 */
export function applyConfiguredRules(
  book: RuleBook,
  configured: readonly RuleDefinition[],
  written: { readonly nowMs: number; readonly lsn: number },
): Change[] {
  const changes: Change[] = [];
  const declared = new Set<Rule>();
  const newRules: RuleDefinition[] = [];
  for (const definition of configured) {
    const existing = book.rules.get(ruleId(definition));
    if (existing !== undefined) declared.add(existing);
    if (existing?.source === "manual") continue;
    if (existing === undefined || !isSameRule(existing.definition, definition))
      newRules.push(definition);
  }
  for (const rule of book.rules.values()) {
    if (rule.source !== "config" || declared.has(rule)) continue;
    book.delete(rule.definition);
    append(changes, ruleRemovals(rule));
  }
  for (const definition of newRules)
    changes.push(ruleChange(book.put(definition, { source: "config", ...written })));
  return changes;
}
