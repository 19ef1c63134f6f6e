/**
 * Rules as the store keeps them: `rules`, [scope, subject, periodSeconds, maxRequests, maxTokens,
 * perChild, source, createdAtMs, updatedAtMs, sinceLsn] by rule id. A reset of all rules is one
 * entry beside them.
 */
import { periodSecondsMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import {
  effectiveSubject,
  type RuleDefinition,
  type RuleSource,
  ruleId,
  scopes,
} from "../../shared/domain/rule.js";
import { isMoment } from "../../shared/time.js";
import { windowKey } from "../counters/stored-window.js";
import type { Change } from "../store/store.js";

interface StoredRule {
  readonly definition: RuleDefinition;
  readonly source: RuleSource;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly sinceLsn: number;
}

/** Writes a rule as it is now. */
export function ruleChange(rule: StoredRule & { readonly id: string }): Change {
  const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = rule.definition;
  return {
    table: "rules",
    key: rule.id,
    value: [
      scope,
      subject,
      periodSeconds,
      maxRequests,
      maxTokens,
      perChild,
      rule.source,
      rule.createdAtMs,
      rule.updatedAtMs,
      rule.sinceLsn,
    ],
  };
}

/** Removes a rule and its own window. Its children's windows are removed as they are forgotten. */
export function ruleRemovals(id: string): Change[] {
  return [
    { table: "rules", key: id, value: undefined },
    { table: "windows", key: windowKey(id, ""), value: undefined },
  ];
}

/** Null for what `ruleChange` never wrote. */
export function ruleFromStored(value: readonly unknown[]): StoredRule | null {
  const [
    rawScope,
    subject,
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
    source,
    createdAtMs,
    updatedAtMs,
    sinceLsn,
  ] = value;
  const scope = scopes.find((known) => known === rawScope);
  if (
    scope === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds) ||
    periodSeconds > periodSecondsMax
  )
    return null;
  if (
    !(maxRequests === null || isCount(maxRequests, 1)) ||
    !(maxTokens === null || isCount(maxTokens, 1)) ||
    typeof perChild !== "boolean"
  )
    return null;
  if (perChild && scope !== "user_path") return null;
  if (source !== "manual" && source !== "config") return null;
  if (!isMoment(createdAtMs) || !isMoment(updatedAtMs) || !isCount(sinceLsn)) return null;
  return {
    definition: { scope, subject, periodSeconds, maxRequests, maxTokens, perChild },
    source,
    createdAtMs,
    updatedAtMs,
    sinceLsn,
  };
}

/**
 * The id of a rule that was read under a key: the key itself, unless something else was written
 * there. A text that is put together would have to be hashed and copied.
 */
export function storedRuleId(key: string | number, { definition }: StoredRule): string {
  const { scope, subject, periodSeconds } = definition;
  const effective = effectiveSubject(scope, subject);
  const period = `\n${periodSeconds}`;
  return typeof key === "string" &&
    key.length === scope.length + 1 + effective.length + period.length &&
    key.startsWith(`${scope}\n`) &&
    key.startsWith(effective, scope.length + 1) &&
    key.endsWith(period)
    ? key
    : ruleId(definition);
}

/** In `epochs`, [lsn]: the last reset of all rules. It counts as the `sinceLsn` of each of them. */
export const resetKey = "reset";

/** Writes that all rules were reset at this log sequence number. */
export function resetAllChange(lsn: number): Change {
  return { table: "epochs", key: resetKey, value: [lsn] };
}
