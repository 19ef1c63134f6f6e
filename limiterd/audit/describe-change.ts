/**
 * Describes definitions that are about to be applied, for the audit log: the subject, and what it
 * was and will be, in the form of the admin API's bodies. No entry has a secret or its hash.
 */

import type { BudgetDefinition } from "../../shared/domain/budget.js";
import { type Raise, raisesFromStored } from "../../shared/domain/raise.js";
import { anchorsFromStored } from "../../shared/domain/reset-anchors.js";
import { capFields, type RuleDefinition } from "../../shared/domain/rule.js";
import { budgetEntry, ruleEntry } from "../../shared/limit-files/limit-entry.js";
import { formatMillis } from "../../shared/time.js";
import { budgetFromStored } from "../budgets/stored-budget.js";
import { allRules, type Definition } from "../cluster/definitions/definition.js";
import { denialFromStored, type StoredDenial } from "../keys/jwt-denials.js";
import type { KeyFields } from "../keys/key-ring.js";
import { keyFromStored } from "../keys/stored-key.js";
import { nameOfBudget } from "../lists/list-budget-children.js";
import { nameOfRule } from "../lists/list-children.js";
import { ruleFromStored } from "../rules/stored-rule.js";
import type { DaemonState } from "../state.js";
import type { Change, Store } from "../store/store.js";
import type { AuditedChange } from "./audit-log.js";

type Books = Pick<DaemonState, "book" | "budgets" | "keys" | "denials" | "declared">;
/** Returns null if there is nothing to record. */
type Describe = (
  state: Books,
  definition: Pick<Definition, "key" | "value">,
) => AuditedChange | null;

const describers: Readonly<Record<Definition["kind"], Describe>> = {
  rules(state, { key, value }) {
    const definition = state.book.ruleSet.get(key)?.definition;
    const stored = value === null ? null : ruleFromStored(value);
    // `sluice limits revert` restores the configuration's definition, not the one in this value.
    const next =
      stored?.source === "config" ? state.declared.rules.find(key)?.definition : stored?.definition;
    const either = next ?? definition;
    return either === undefined
      ? null
      : {
          ...ruleSubject(either),
          before: definition === undefined ? null : ruleEntry(definition),
          after: next === undefined ? null : ruleEntry(next),
        };
  },
  budgets(state, { key, value }) {
    const definition = state.budgets.budgets.get(key)?.definition;
    const stored = value === null ? null : budgetFromStored(value);
    const next =
      stored?.source === "config"
        ? state.declared.budgets.find(key)?.definition
        : stored?.definition;
    const either = next ?? definition;
    return either === undefined
      ? null
      : {
          ...budgetSubject(either),
          before: definition === undefined ? null : budgetEntry(definition),
          after: next === undefined ? null : budgetEntry(next),
        };
  },
  rule_resets({ book }, { key, value }) {
    const rule = book.ruleSet.get(key);
    const subject = key === allRules ? "all rules" : rule && nameOfRule(rule.definition);
    if (value === null || subject === undefined) return null;
    return { subject, before: null, after: null, path: rule && pathOf(rule.definition) };
  },
  budget_resets({ budgets }, { key, value }) {
    const budget = budgets.budgets.get(key);
    return value === null || budget === undefined
      ? null
      : { ...budgetSubject(budget.definition), before: null, after: null };
  },
  rule_raises({ book }, { key, value }) {
    const rule = book.ruleSet.get(key);
    return rule === undefined
      ? null
      : { ...ruleSubject(rule.definition), ...raisesOf(rule.raises, value) };
  },
  budget_raises({ budgets }, { key, value }) {
    const budget = budgets.budgets.get(key);
    return budget === undefined
      ? null
      : { ...budgetSubject(budget.definition), ...raisesOf(budget.raises, value) };
  },
  settings({ budgets }, { value }) {
    const after = value === null ? null : anchorsFromStored(value);
    return { subject: "starts of budget periods", before: budgets.anchors, after };
  },
  keys({ keys }, { key, value }) {
    const existing = keys.byNumber(Number(key));
    const next = value === null ? null : keyFromStored(Number(key), value);
    return {
      subject: `key key_${key}`,
      path: existing?.userPath ?? next?.userPath ?? undefined,
      before: existing === undefined ? null : describeKey(existing),
      after: next === null || next.deletedAtMs !== null ? null : describeKey(next),
    };
  },
  denials({ denials }, { key, value }) {
    const existing = denials.get(key);
    const next = value === null ? null : denialFromStored(value);
    const either = next ?? existing;
    return either === undefined
      ? null
      : {
          subject: `JWT ${either.claim} ${either.value}`,
          before: existing === undefined ? null : describeDenial(existing),
          after: next === null ? null : describeDenial(next),
        };
  },
};

/** The user path of a limit; undefined if it isn't on a path. */
function pathOf({ scope, subject }: { readonly scope: string; readonly subject: string }) {
  return scope === "user_path" ? subject : undefined;
}

function ruleSubject(definition: RuleDefinition): Pick<AuditedChange, "subject" | "path"> {
  return { subject: nameOfRule(definition), path: pathOf(definition) };
}

function budgetSubject(definition: BudgetDefinition): Pick<AuditedChange, "subject" | "path"> {
  return { subject: nameOfBudget(definition), path: pathOf(definition) };
}

/** One entry for each definition, except the reset that comes with a new rule. */
export function describeDefinitions(
  state: Books,
  definitions: readonly Definition[],
): readonly AuditedChange[] {
  const rules = new Set(definitions.flatMap(({ kind, key }) => (kind === "rules" ? [key] : [])));
  return definitions.flatMap((definition) => {
    const { kind, key } = definition;
    if (kind === "rule_resets" && rules.has(key)) return [];
    return describers[kind](state, definition) ?? [];
  });
}

/** Describes the rules and budgets of the configuration that a start changes in the store. */
export function describeConfigured(
  store: Store,
  changes: readonly Change[],
): readonly AuditedChange[] {
  return changes.flatMap(({ table, key, value }) => {
    if (table !== "rules" && table !== "budgets") return [];
    const show = table === "rules" ? describeRule : describeBudget;
    const before = show(store.get(table, key));
    const after = show(value);
    const either = after ?? before;
    if (either === null || JSON.stringify(before) === JSON.stringify(after)) return [];
    return { ...either.of, before: before?.entry, after: after?.entry };
  });
}

interface DescribedEntry {
  readonly of: Pick<AuditedChange, "subject" | "path">;
  readonly entry: unknown;
}

function describeRule(value: readonly unknown[] | undefined): DescribedEntry | null {
  const definition = value === undefined ? undefined : ruleFromStored(value)?.definition;
  return definition === undefined
    ? null
    : { of: ruleSubject(definition), entry: ruleEntry(definition) };
}

function describeBudget(value: readonly unknown[] | undefined): DescribedEntry | null {
  const definition = value === undefined ? undefined : budgetFromStored(value)?.definition;
  return definition === undefined
    ? null
    : { of: budgetSubject(definition), entry: budgetEntry(definition) };
}

function raisesOf(
  before: readonly Raise[] | null,
  value: Definition["value"],
): Pick<AuditedChange, "before" | "after"> {
  return {
    before: before?.map(describeRaise) ?? null,
    after: value === null ? null : (raisesFromStored(value)?.map(describeRaise) ?? null),
  };
}

function describeRaise({ child, amountUsd, untilMs, by, reason, ...caps }: Raise): unknown {
  return {
    ...(child === "" ? {} : { child }),
    ...capFields(caps),
    ...(amountUsd === null ? {} : { amount: amountUsd }),
    until: formatMillis(untilMs),
    by,
    reason,
  };
}

function describeKey({
  name,
  userPath,
  labels,
  models,
  role,
  redacted,
  ...times
}: KeyFields): unknown {
  const { expiresAtMs, deactivatedAtMs, oldSecrets } = times;
  return {
    name,
    user_path: userPath,
    labels,
    models,
    ...(role === null ? {} : { role }),
    redacted_value: redacted,
    old_secrets: oldSecrets.map((old) => ({
      redacted_value: old.redacted,
      expires_at: formatMillis(old.untilMs),
    })),
    expires_at: expiresAtMs === null ? null : formatMillis(expiresAtMs),
    deactivated_at: deactivatedAtMs === null ? null : formatMillis(deactivatedAtMs),
  };
}

function describeDenial({ issuer, expiresAtMs }: StoredDenial): unknown {
  return { issuer, expires_at: expiresAtMs === null ? null : formatMillis(expiresAtMs) };
}
