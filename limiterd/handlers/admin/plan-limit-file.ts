/**
 * The plan of a file of limits: its changes to the current rules, budgets, keys and denied JWTs, in
 * the form shown to users and as definitions.
 */

import { limitsPerTurn } from "../../../shared/bounds.js";
import { budgetsInert } from "../../../shared/config/inert-rule.js";
import {
  type BudgetDefinition,
  budgetId,
  budgetPeriodLabel,
  compareBudgets,
} from "../../../shared/domain/budget.js";
import { calendarBody, isSameCalendar } from "../../../shared/domain/budget-calendar.js";
import { holdField } from "../../../shared/domain/hold.js";
import { jwtNameKey } from "../../../shared/domain/jwt-denial.js";
import { modeField } from "../../../shared/domain/limit-key.js";
import { modelsField } from "../../../shared/domain/limited-models.js";
import { keyId } from "../../../shared/domain/managed-key.js";
import { exhaustedField, isSameOnExhausted } from "../../../shared/domain/on-exhausted.js";
import {
  capFields,
  compareRules,
  hasSameCaps,
  periodLabel,
  type RuleDefinition,
  ruleId,
} from "../../../shared/domain/rule.js";
import { whenField } from "../../../shared/domain/rule-hours.js";
import type { FileKey } from "../../../shared/limit-files/credential-entry.js";
import {
  type DenialItem,
  type KeyItem,
  type KeyValues,
  type LimitAction,
  type LimitChangeItem,
  type LimitItem,
  limitActions,
} from "../../../shared/limit-files/limits-plan.js";
import { append, type SlicedWork, Turns } from "../../../shared/long-lists.js";
import { TextDigest } from "../../../shared/text/text-digest.js";
import { formatSeconds } from "../../../shared/time.js";
import type { Definition } from "../../cluster/definitions/definition.js";
import { deletedKey } from "../../keys/changed-key.js";
import { placeFields } from "../../lists/list-query.js";
import type { DaemonState } from "../../state.js";
import { budgetDefinition, budgetDeletion, budgetReversion } from "../definitions/apply-budgets.js";
import {
  denialDefinition,
  denialDeletion,
  keyDefinition,
} from "../definitions/apply-credentials.js";
import { ruleDefinitions, ruleDeletions, ruleReversion } from "../definitions/apply-rules.js";
import type { HeldLimitFile, HeldPlan } from "../limit-files/held-limit-files.js";
import {
  type DenialChange,
  type KeyChange,
  planDenials,
  planKeys,
} from "../limit-files/plan-credentials.js";
import { type LimitChange, type PlanOptions, planLimits } from "../limit-files/plan-limits.js";

const ruleKind = {
  idOf: ruleId,
  isSame: (a: RuleDefinition, b: RuleDefinition) =>
    hasSameCaps(a, b) &&
    a.perChild === b.perChild &&
    (a.hostOnly ?? false) === (b.hostOnly ?? false),
  compare: compareRules,
};

const budgetKind = {
  idOf: budgetId,
  isSame: (a: BudgetDefinition, b: BudgetDefinition) =>
    a.amountUsd === b.amountUsd &&
    a.perChild === b.perChild &&
    a.unpriced === b.unpriced &&
    isSameOnExhausted(a, b) &&
    a.hold === b.hold &&
    isSameCalendar(a, b),
  compare: compareBudgets,
};

const nothing = { changes: [], unchanged: 0, kept: 0 };

/** Whether a plan made now would be the same. */
export function isCurrent(
  { limitFiles }: Pick<DaemonState, "limitFiles">,
  { part }: Pick<HeldLimitFile, "part">,
  { madeOf }: HeldPlan,
): boolean {
  return madeOf.limitsVersion === limitFiles.limitsVersion && madeOf.part === part;
}

/** The plan of a held file. It may be out of date after its last turn: ask `isCurrent`. */
export function* planLimitFile(
  state: DaemonState,
  { rules, budgets, keys, denials, part }: Omit<HeldLimitFile, "plan">,
  options: PlanOptions,
  nowMs: number,
): SlicedWork<HeldPlan> {
  const { declared } = state;
  const { limitsVersion } = state.limitFiles;
  const turns = new Turns(limitsPerTurn);
  const how = { ...options, nowMs, turns };
  const present = {
    rules: { present: state.book.rules, declared: definitionIn(declared.rules) },
    budgets: { present: state.budgets.budgets, declared: definitionIn(declared.budgets) },
  };
  const ofRules =
    rules === null ? nothing : yield* planLimits(ruleKind, present.rules, [...rules.values()], how);
  const ofBudgets =
    budgets === null
      ? nothing
      : yield* planLimits(budgetKind, present.budgets, [...budgets.values()], how);
  const ofKeys = keys === null ? nothing : yield* planKeys(state.keys, keys, how);
  const ofDenials = denials === null ? nothing : yield* planDenials(state.denials, denials, how);
  const changes: LimitChangeItem[] = [];
  const digest = new TextDigest();
  const show = (item: LimitChangeItem): void => {
    changes.push(item);
    digest.add(JSON.stringify(item));
  };
  for (const change of ofRules.changes) {
    show(ruleItem(state, change));
    if (turns.isOver()) yield;
  }
  for (const change of ofBudgets.changes) {
    show(budgetItem(state, change));
    if (turns.isOver()) yield;
  }
  for (const change of ofKeys.changes) {
    show(keyItem(change));
    if (turns.isOver()) yield;
  }
  for (const change of ofDenials.changes) {
    show(denialItem(change));
    if (turns.isOver()) yield;
  }
  const all = [ofRules, ofBudgets, ofKeys, ofDenials];
  const counts = {
    ...countActions(changes),
    unchanged: all.reduce((sum, { unchanged }) => sum + unchanged, 0),
    kept: all.reduce((sum, { kept }) => sum + kept, 0),
  };
  return {
    options,
    changes,
    counts,
    revision: digest.toString(),
    madeOf: { limitsVersion, part },
    rules: ofRules.changes,
    budgets: ofBudgets.changes,
    keys: ofKeys.changes,
    denials: ofDenials.changes,
  };
}

/**
 * The definitions of a plan. Check afterwards that the plan is still valid: rules may have been
 * deleted between the turns.
 */
export function* definitionsOf(
  state: DaemonState,
  { rules, budgets, keys, denials }: Pick<HeldPlan, "rules" | "budgets" | "keys" | "denials">,
  nowMs: number,
): SlicedWork<readonly Definition[]> {
  const turns = new Turns(limitsPerTurn);
  const definitions: Definition[] = [];
  for (const change of rules) {
    append(definitions, ruleChanges(state, change, nowMs));
    if (turns.isOver()) yield;
  }
  for (const change of budgets) {
    append(definitions, budgetChanges(state, change, nowMs));
    if (turns.isOver()) yield;
  }
  let number = state.keys.nextNumber;
  for (const change of keys) {
    append(definitions, keyChanges(state, change, { number, nowMs }));
    if (change.action === "add") number++;
    if (turns.isOver()) yield;
  }
  for (const change of denials) {
    definitions.push(denialChangeDefinition(state, change, nowMs));
    if (turns.isOver()) yield;
  }
  return definitions;
}

/** What the configuration declares under an id; null if it declares nothing. */
function definitionIn<D>(declared: {
  find(id: string): { readonly definition: D } | null;
}): (id: string) => D | null {
  return (id) => declared.find(id)?.definition ?? null;
}

function countActions(changes: readonly LimitChangeItem[]): Record<LimitAction, number> {
  const counts = Object.fromEntries(limitActions.map((action) => [action, 0]));
  for (const { action } of changes) counts[action] = (counts[action] ?? 0) + 1;
  return counts as Record<LimitAction, number>;
}

function ruleChanges(
  { book }: DaemonState,
  { action, id, before, after }: LimitChange<RuleDefinition>,
  nowMs: number,
): readonly Definition[] {
  const existing = book.rules.get(id) ?? null;
  if (action === "revert") return existing === null ? [] : [ruleReversion(existing, nowMs)];
  return after === null ? ruleDeletions(before!) : ruleDefinitions(after, existing, nowMs);
}

function budgetChanges(
  { budgets }: DaemonState,
  { action, id, before, after }: LimitChange<BudgetDefinition>,
  nowMs: number,
): readonly Definition[] {
  const existing = budgets.budgets.get(id) ?? null;
  if (action === "revert") return existing === null ? [] : [budgetReversion(existing, nowMs)];
  return [after === null ? budgetDeletion(before!) : budgetDefinition(after, existing, nowMs)];
}

/** `number`: that of a new key. */
function keyChanges(
  { keys }: Pick<DaemonState, "keys">,
  { action, number: knownNumber, after }: KeyChange,
  { number, nowMs }: { readonly number: number; readonly nowMs: number },
): readonly Definition[] {
  const existing = knownNumber === null ? undefined : keys.byNumber(knownNumber);
  if (action === "add")
    return [
      keyDefinition({
        ...after!,
        number,
        role: null,
        oldSecrets: [],
        createdAtMs: nowMs,
        deactivatedAtMs: null,
        deletedAtMs: null,
        lastUsedAtMs: null,
      }),
    ];
  if (existing === undefined || action === "locked") return [];
  if (after === null) return [keyDefinition(deletedKey(existing, nowMs))];
  const { name, userPath, labels, models, expiresAtMs } = after;
  return [keyDefinition({ ...existing, name, userPath, labels, models, expiresAtMs })];
}

function denialChangeDefinition(
  { denials }: Pick<DaemonState, "denials">,
  { before, after }: DenialChange,
  nowMs: number,
): Definition {
  if (after === null) return denialDeletion(before!);
  const deniedAtMs = denials.get(jwtNameKey(after))?.deniedAtMs ?? nowMs;
  return denialDefinition({ ...after, deniedAtMs });
}

function keyItem({ action, number, before, after, lock }: KeyChange): KeyItem {
  return {
    kind: "key",
    action,
    ...(number === null ? {} : { id: keyId(number) }),
    redacted_value: (before ?? after)!.redacted,
    ...(before === null ? {} : { before: keyValues(before) }),
    ...(after === null ? {} : { after: keyValues(after) }),
    ...(lock === null ? {} : { locked_by: lock }),
  };
}

function keyValues({ name, userPath, labels, models, expiresAtMs }: FileKey): KeyValues {
  return { name, user_path: userPath, labels, models, expires_at: secondsOrNull(expiresAtMs) };
}

function denialItem({ action, before, after }: DenialChange): DenialItem {
  const { claim, value, issuer } = (after ?? before)!;
  return {
    kind: "denied_jwt",
    action,
    claim,
    value,
    issuer,
    ...(before === null ? {} : { before: { expires_at: secondsOrNull(before.expiresAtMs) } }),
    ...(after === null ? {} : { after: { expires_at: secondsOrNull(after.expiresAtMs) } }),
  };
}

function secondsOrNull(ms: number | null): string | null {
  return ms === null ? null : formatSeconds(ms);
}

function ruleItem(
  { book, declared, settings }: DaemonState,
  { action, id, before, after }: LimitChange<RuleDefinition>,
): LimitItem {
  const { scope, subject, periodSeconds, models, when, mode } = (after ?? before)!;
  const inert = after === null ? null : settings.inertReason(after);
  const at = action === "revert" ? declared.rules.find(id)?.at : book.rules.get(id)?.declaredAt;
  return {
    kind: "rule",
    action,
    scope,
    subject,
    period_label: periodLabel(periodSeconds),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...whenField(when),
    ...modeField({ mode }),
    ...(before === null ? {} : { before: ruleValues(before) }),
    ...(after === null ? {} : { after: ruleValues(after) }),
    ...(concernsConfiguration(action)
      ? placeFields({ scope, subject }, at ?? null, {
          file: settings.configFile,
          section: "rate_limits",
        })
      : {}),
    ...(inert === null ? {} : { inert }),
  };
}

function budgetItem(
  { budgets, declared, settings }: DaemonState,
  { action, id, before, after }: LimitChange<BudgetDefinition>,
): LimitItem {
  const { scope, subject, periodSeconds, models, rolling } = (after ?? before)!;
  const inert = after === null ? null : budgetsInert(settings.usageEnabled);
  const existing = budgets.budgets.get(id);
  const at = action === "revert" ? declared.budgets.find(id)?.at : existing?.declaredAt;
  return {
    kind: "budget",
    action,
    scope,
    subject,
    period_label: budgetPeriodLabel(periodSeconds, rolling),
    period_seconds: periodSeconds,
    ...modelsField(models),
    ...(before === null ? {} : { before: budgetValues(before) }),
    ...(after === null ? {} : { after: budgetValues(after) }),
    ...(concernsConfiguration(action)
      ? placeFields({ scope, subject }, at ?? null, {
          file: settings.configFile,
          section: "budgets",
        })
      : {}),
    ...(inert === null ? {} : { inert }),
  };
}

function concernsConfiguration(action: LimitAction): boolean {
  return action === "revert" || action === "locked" || action === "take_over";
}

function ruleValues(rule: RuleDefinition): NonNullable<LimitItem["after"]> {
  return {
    ...capFields(rule),
    per_child: rule.perChild,
    ...(rule.hostOnly === true ? { host_only: true } : {}),
  };
}

function budgetValues(budget: BudgetDefinition): NonNullable<LimitItem["after"]> {
  const { amountUsd, perChild, unpriced } = budget;
  return {
    amount: amountUsd,
    per_child: perChild,
    ...(unpriced === undefined ? {} : { unpriced }),
    ...exhaustedField(budget),
    ...holdField(budget),
    ...calendarBody(budget),
  };
}
