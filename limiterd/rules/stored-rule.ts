/**
 * Rules as the store keeps them: `rules`, [scope, subject, periodSeconds, maxRequests, maxTokens,
 * perChild, source, createdAtMs, updatedAtMs, sinceLsn, hostOnly, models, measures, when,
 * onExhausted, hold, wouldRefuse, shares, loops] by rule id; the last nine only where the rule has
 * them, or one of those after it. `wouldRefuse` is [count, lastAtMs] of a shadow rule. `measures`
 * is [weights, …[cap, sinceLsn] of each measure], with null for what isn't set. A reset of all
 * rules is one further entry, and so is the note that lets a start load rules lazily.
 */

import { periodSecondsMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { parseShares } from "../../shared/domain/child-shares.js";
import { parseHold } from "../../shared/domain/hold.js";
import { isLimitedModels, modelsField } from "../../shared/domain/limited-models.js";
import { type LoopTimes, parseLoops } from "../../shared/domain/loop-rule.js";
import { parseOnExhausted } from "../../shared/domain/on-exhausted.js";
import {
  type CappedMeasure,
  capFields,
  cappedMeasures,
  effectiveSubject,
  parseCaps,
  type RuleDefinition,
  ruleId,
  scopes,
} from "../../shared/domain/rule.js";
import { isRuleHours } from "../../shared/domain/rule-hours.js";
import { isMoment } from "../../shared/time.js";
import type { Rule, RuleFields, WouldRefuse } from "../counters/counter.js";
import { windowKey } from "../counters/window.js";
import type { Change } from "../store/store.js";
import type { Contributor } from "../store/writer.js";
import type { RuleBook } from "./rule-book.js";
import type { RuleSet } from "./rule-set.js";

/** The change that writes a rule as it is now. */
export function ruleChange(
  rule: Omit<RuleFields, "wouldRefuse"> &
    StoredCounts & { readonly id: string; readonly parts?: readonly Rule[] },
): Change {
  const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = rule.definition;
  const { hostOnly = false, models, when, onExhausted, hold, childShares, loops } = rule.definition;
  const optional = [
    hostOnly || null,
    models ?? null,
    measuresToStored(rule),
    when ?? null,
    onExhausted ?? null,
    hold ?? null,
    wouldRefuseToStored(rule),
    childShares ?? null,
    loops ?? null,
  ];
  const count = 1 + optional.findLastIndex((value) => value !== null);
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
      ...[hostOnly, ...optional.slice(1)].slice(0, count),
    ],
  };
}

/** Null for an enforced rule. */
function wouldRefuseToStored({ definition: { mode }, wouldRefuse }: StoredCounts): unknown {
  return mode === undefined ? null : [wouldRefuse?.count ?? 0, wouldRefuse?.lastAtMs ?? null];
}

interface StoredCounts extends Pick<RuleFields, "definition"> {
  readonly wouldRefuse?: WouldRefuse | null;
}

/** Null for what `wouldRefuseToStored` never made. */
function wouldRefuseFromStored(value: unknown): WouldRefuse | null {
  const [count, lastAtMs] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (!isCount(count) || (lastAtMs !== null && !isMoment(lastAtMs))) return null;
  return { count, lastAtMs };
}

/** Null if the rule has neither caps of measures nor weights. */
function measuresToStored({
  definition: { measureCaps, tokenWeights },
  parts = [],
}: Pick<RuleFields, "definition"> & {
  readonly parts?: readonly Rule[];
}): readonly unknown[] | null {
  if (measureCaps === undefined && tokenWeights === undefined) return null;
  return [
    tokenWeights ?? null,
    ...cappedMeasures.flatMap((measure) => {
      const cap = measureCaps?.[measure];
      const part = parts.find((candidate) => candidate.measure === measure);
      return cap === undefined ? [null, 0] : [cap, part?.sinceLsn ?? 0];
    }),
  ];
}

/** The weights and caps as fields of an API body, and the lsn since which each cap counts. */
function measuresFromStored(value: unknown): {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly since: Readonly<Partial<Record<CappedMeasure, number>>>;
} | null {
  if (!Array.isArray(value)) return null;
  const [weights, ...caps] = value as readonly unknown[];
  const fields: Record<string, unknown> = { token_weights: weights };
  const since: Partial<Record<CappedMeasure, number>> = {};
  for (const [i, measure] of cappedMeasures.entries()) {
    const [cap = null, sinceLsn = 0] = caps.slice(2 * i, 2 * i + 2);
    if (!isCount(sinceLsn)) return null;
    fields[`max_${measure}`] = cap;
    if (cap !== null) since[measure] = sinceLsn;
  }
  return { fields, since };
}

/** With each batch of the journal, writes what shadow rules would have refused. */
export function shadowNotes(book: Pick<RuleBook, "takeRefused">): Contributor {
  return { changes: () => book.takeRefused().map(ruleChange) };
}

/**
 * Removes a rule and its own window. Its children's windows are removed when the children are
 * removed from memory.
 */
export function ruleRemovals({ id, parts }: Pick<Rule, "id" | "parts">): Change[] {
  return [
    { table: "rules", key: id, value: undefined },
    { table: "windows", key: windowKey(id, ""), value: undefined },
    ...parts.map(
      (part): Change => ({ table: "windows", key: windowKey(part.id, ""), value: undefined }),
    ),
  ];
}

/** Null for what `ruleChange` never wrote. */
export function ruleFromStored(value: readonly unknown[]): RuleFields | null {
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
    hostOnly = false,
    ...optional
  ] = value;
  if (optional.at(-1) === null) return null;
  const [models, rawMeasures, when, rawExhausted, rawHold, rawRefused, rawShares, rawLoops] =
    optional.map((field) => field ?? undefined);
  const exhausted = parseOnExhausted(rawExhausted, "on_exhausted");
  const hold = parseHold(rawHold, "hold");
  const shares = parseShares(rawShares, "shares");
  const loops = parseLoops(rawLoops, "loops");
  if (!exhausted.ok || !hold.ok || !shares.ok || !loops.ok) return null;
  const wouldRefuse = rawRefused === undefined ? undefined : wouldRefuseFromStored(rawRefused);
  if (wouldRefuse === null) return null;
  const scope = scopes.find((candidate) => candidate === rawScope);
  if (
    scope === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds) ||
    periodSeconds > periodSecondsMax
  )
    return null;
  if (
    !(maxRequests === null || isCount(maxRequests, models === undefined ? 1 : 0)) ||
    (maxRequests === 0 && maxTokens !== null) ||
    !(maxTokens === null || isCount(maxTokens, 1)) ||
    typeof perChild !== "boolean" ||
    typeof hostOnly !== "boolean"
  )
    return null;
  if ((perChild || models !== undefined) && scope !== "user_path") return null;
  if (models !== undefined && !isLimitedModels(models)) return null;
  if (when !== undefined && !isRuleHours(when)) return null;
  if (source !== "manual" && source !== "config") return null;
  if (!isMoment(createdAtMs) || !isMoment(updatedAtMs) || !isCount(sinceLsn)) return null;
  const definition: RuleDefinition = {
    scope,
    subject,
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
    hostOnly,
    ...(models === undefined ? {} : { models }),
    ...(when === undefined ? {} : { when }),
    ...(wouldRefuse === undefined ? {} : { mode: "shadow" }),
    ...exhausted.value,
    ...hold.value,
    ...shares.value,
    ...loops.value,
  };
  const stored: RuleFields = {
    definition,
    source,
    createdAtMs,
    updatedAtMs,
    sinceLsn,
    ...(wouldRefuse === undefined ? {} : { wouldRefuse }),
  };
  if (rawMeasures === undefined) return stored;
  const ofMeasures = measuresFromStored(rawMeasures);
  if (ofMeasures === null) return null;
  const caps = parseCaps(
    { ...capFields(definition), ...modelsField(models), ...ofMeasures.fields },
    periodSeconds,
  );
  if (!caps.ok) return null;
  return {
    ...stored,
    definition: { ...definition, ...caps.value },
    measuresSince: ofMeasures.since,
  };
}

/**
 * The id of a rule that was read under a key: the key itself if it is the rule's id. That avoids
 * copying and hashing a new text.
 */
export function storedRuleId(key: string | number, { definition }: RuleFields): string {
  const { scope, subject, periodSeconds, models, when, mode } = definition;
  if (models !== undefined || when !== undefined || mode !== undefined) return ruleId(definition);
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

/** In `epochs`, [lsn]: the last reset of all rules, which counts as a reset of each of them. */
export const resetKey = "reset";

/** The change that notes a reset of all rules at this log sequence number. */
export function resetAllChange(lsn: number): Change {
  return { table: "epochs", key: resetKey, value: [lsn] };
}

/**
 * In `epochs`, [startLsn, configured, count, sinceMs, sinceLsn, hasHard, loopMin, loopMax,
 * turnsMin, turnsMax]: the note on all rules; the last five only if a rule is hard or on loops.
 */
export const rulesKey = "rules";

/** Facts about the rules in the store, valid if the last epoch wrote them. */
export interface RulesNote {
  /** The first lsn of the epoch that wrote the note; a note of an earlier epoch is outdated. */
  readonly startLsn: number;
  /**
   * The digest of the `configuredText` whose rules the store has. If empty, the rules must be
   * compared one by one.
   */
  readonly configured: string;
  readonly count: number;
  /** As in `RuleSet`. */
  readonly sinceMs: number;
  readonly sinceLsn: number;
  readonly hasHard: boolean;
  readonly loopTimes: LoopTimes | null;
}

/** The change that writes the note for the next start; commit it with every change of a rule. */
export function rulesNoteChange(
  {
    size,
    sinceMs,
    sinceLsn,
    hasHard,
    loopTimes,
  }: Pick<RuleSet, "size" | "sinceMs" | "sinceLsn" | "hasHard" | "loopTimes">,
  { startLsn, configured }: Pick<RulesNote, "startLsn" | "configured">,
): Change {
  // Without enforced rules `sinceMs` is infinite, and no note is written.
  const { min, max, turns } = loopTimes ?? {};
  const ofTurns = turns === undefined ? [] : [turns.min, turns.max];
  const ofLoops = loopTimes === null ? [] : [min, max, ...ofTurns];
  const further = hasHard || loopTimes !== null ? [hasHard, ...ofLoops] : [];
  const facts = [startLsn, configured, size, sinceMs, sinceLsn, ...further];
  const value = size > 0 && sinceMs < Number.POSITIVE_INFINITY ? facts : undefined;
  return { table: "epochs", key: rulesKey, value };
}

/** Null for what `rulesNoteChange` never wrote. */
export function rulesNoteFromStored(value: readonly unknown[]): RulesNote | null {
  const [startLsn, configured, count, sinceMs, sinceLsn, hasHard = false, ...ofLoops] = value;
  const [min, max, turnsMin, turnsMax] = ofLoops;
  if (!isCount(startLsn) || typeof configured !== "string" || !isCount(count, 1)) return null;
  if (!isMoment(sinceMs) || !isCount(sinceLsn) || typeof hasHard !== "boolean") return null;
  if (min !== undefined && !(isCount(min) && isCount(max, min))) return null;
  if (turnsMin !== undefined && !(isCount(turnsMin, 2) && isCount(turnsMax, turnsMin))) return null;
  const turns = turnsMin === undefined ? undefined : { min: turnsMin, max: turnsMax as number };
  const loopTimes = min === undefined ? null : { min, max: max as number, turns };
  return { startLsn, configured, count, sinceMs, sinceLsn, hasHard, loopTimes };
}

/**
 * The rules of a configuration as one text. Different rules have different texts, because no
 * subject contains a line feed.
 */
export function configuredText(rules: readonly RuleDefinition[]): string {
  let text = "";
  for (const rule of rules) {
    const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild, hostOnly, models } =
      rule;
    text += `${scope}\n${subject}\n${periodSeconds}\n${maxRequests}\n${maxTokens}\n${perChild}\n${hostOnly === true ? "host_only\n" : ""}`;
    if (models !== undefined) text += `models\n${models}\n`;
    if (rule.when !== undefined) text += `when\n${rule.when}\n`;
    if (rule.mode !== undefined) text += `mode\n${rule.mode}\n`;
    const { measureCaps, tokenWeights, onExhausted, hold, childShares, loops } = rule;
    const others = [measureCaps, tokenWeights, onExhausted, hold, childShares, loops];
    if (others.some((value) => value !== undefined))
      text += `caps\n${JSON.stringify(capFields(rule))}\n`;
  }
  return text;
}
