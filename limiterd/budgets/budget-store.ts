/**
 * Budgets as the store keeps them: their definitions, what each account has spent, when they were
 * last reset, and the anchors. The commit of a batch's records holds, in one entry of a log, what
 * each account that they charged had spent after them; the accounts' own entries are written now
 * and then (`flush-usage.ts`).
 */
import { assert, isCount } from "../../shared/assert.js";
import { type BudgetDefinition, budgetScopes } from "../../shared/domain/budget.js";
import { anchorsToStored, type ResetAnchors } from "../../shared/domain/reset-anchors.js";
import type { Change } from "../store/store.js";
import type { Contributor } from "../store/writer.js";
import type { UsageLog } from "../usage/usage-log.js";
import { type Account, accountsOf, type Budget } from "./budget-account.js";
import type { BudgetBook, RestoredBudget } from "./budget-book.js";
import { type Spends, spendsFromStored, spendsToStored } from "./spend.js";

/**
 * `budgets`: [scope, subject, periodSeconds, amountUsd, perChild, source, createdAtMs, updatedAtMs,
 * sinceMs, sinceKey, backfill] by budget id.
 */
export function budgetChange({
  id,
  definition,
  source,
  createdAtMs,
  updatedAtMs,
  sinceMs,
  sinceKey,
  backfill,
}: Budget): Change {
  const { scope, subject, periodSeconds, amountUsd, perChild } = definition;
  return {
    table: "budgets",
    key: id,
    value: [
      scope,
      subject,
      periodSeconds,
      amountUsd,
      perChild,
      source,
      createdAtMs,
      updatedAtMs,
      sinceMs,
      sinceKey,
      backfill,
    ],
  };
}

/** Null for what `budgetChange` never wrote. */
export function budgetFromStored(value: readonly unknown[]): RestoredBudget | null {
  const [
    rawScope,
    subject,
    periodSeconds,
    amountUsd,
    perChild,
    source,
    createdAtMs,
    updatedAtMs,
    sinceMs,
    sinceKey,
    backfill,
  ] = value;
  const scope = budgetScopes.find((known) => known === rawScope);
  if (
    scope === undefined ||
    typeof subject !== "string" ||
    !isCount(periodSeconds, 1) ||
    typeof amountUsd !== "number" ||
    !(amountUsd > 0) ||
    typeof perChild !== "boolean"
  )
    return null;
  if (
    (source !== "manual" && source !== "config") ||
    !isCount(createdAtMs) ||
    !isCount(updatedAtMs) ||
    !isCount(sinceMs) ||
    !isCount(sinceKey) ||
    typeof backfill !== "boolean"
  )
    return null;
  const definition: BudgetDefinition = { scope, subject, periodSeconds, amountUsd, perChild };
  return { definition, source, createdAtMs, updatedAtMs, sinceMs, sinceKey, backfill };
}

/** By budget id and child. */
export function spendKey(budgetId: string, child: string): string {
  return `${budgetId}\n${child}`;
}

/** The budget's id and the child of an account's key. */
export function splitSpendKey(key: string): { readonly budgetId: string; readonly child: string } {
  const at = key.lastIndexOf("\n");
  return { budgetId: key.slice(0, at), child: key.slice(at + 1) };
}

/** `spends`: [recordKey, …spends] by account: it holds every record up to this key. */
export function spendChange({ budget, child, spends }: Account, recordKey: number): Change {
  return {
    table: "spends",
    key: spendKey(budget.id, child),
    value: [recordKey, ...spendsToStored(spends)],
  };
}

/** Null for what `spendChange` never wrote. */
export function spendFromStored([recordKey, ...rest]: readonly unknown[]): {
  readonly recordKey: number;
  readonly spends: Spends;
} | null {
  const spends = spendsFromStored(rest);
  return isCount(recordKey) && spends !== null ? { recordKey, spends } : null;
}

/** Removes all accounts of a budget. */
export function spendRemovals(budget: Budget): Change[] {
  return accountsOf(budget).map(({ child }) => ({
    table: "spends",
    key: spendKey(budget.id, child),
    value: undefined,
  }));
}

/**
 * `resets`: [resetAtMs] by budget id. It outlives the budget: created again, the budget begins
 * there.
 */
export function resetChange(id: string, atMs: number): Change {
  return { table: "resets", key: id, value: [atMs] };
}

/** `settings`: the anchors, in the order of their table. */
export const anchorsKey = "reset_anchors";

export function anchorsChange(anchors: ResetAnchors): Change {
  return { table: "settings", key: anchorsKey, value: anchorsToStored(anchors) };
}

/** Writes what was spent, in the commit of the settles that spent it. */
export interface SpendLog extends Contributor {
  /** Hands out the accounts whose own entries are behind the log, each once. */
  takeBehind(): Account[];
  /** Removes the entries up to a key, once the accounts' own entries cover them. */
  removals(recordKey: number): Change[];
}

/**
 * What an earlier epoch left in the log: its keys, ascending, and the accounts whose own entries
 * are behind it.
 */
export interface SpendsLogged {
  readonly keys: number[];
  readonly behind: Set<Account>;
}

/** It contributes after `usage`, whose batch gives its entries their keys. */
export function createSpendLog(
  book: BudgetBook,
  usage: Pick<UsageLog, "lastKey">,
  { keys, behind }: SpendsLogged,
): SpendLog {
  return {
    changes() {
      const value: unknown[] = [];
      for (const account of book.takeDirty()) {
        // The budget of one that isn't current was deleted, or began anew.
        if (!book.isCurrent(account)) continue;
        value.push([spendKey(account.budget.id, account.child), ...spendsToStored(account.spends)]);
        behind.add(account);
      }
      if (value.length === 0) return [];
      assert(usage.lastKey > (keys.at(-1) ?? 0), "spending is logged with its records");
      keys.push(usage.lastKey);
      return [{ table: "spendlog", key: usage.lastKey, value }];
    },
    committed() {},
    takeBehind() {
      const taken = [...behind];
      behind.clear();
      return taken;
    },
    removals(recordKey) {
      const covered = keys.findIndex((key) => key > recordKey);
      return keys
        .splice(0, covered === -1 ? keys.length : covered)
        .map((key) => ({ table: "spendlog", key, value: undefined }));
    },
  };
}

/**
 * `spendlog`: [account, …spends] of each account that a batch charged, as it was after it, by the
 * key of the batch's records. Null for what was never written.
 */
export function spendLogFromStored(
  value: readonly unknown[],
): readonly { readonly key: string; readonly spends: Spends }[] | null {
  const images: { key: string; spends: Spends }[] = [];
  for (const item of value) {
    const [key, ...rest] = Array.isArray(item) ? (item as unknown[]) : [];
    const spends = spendsFromStored(rest);
    if (typeof key !== "string" || spends === null) return null;
    images.push({ key, spends });
  }
  return images;
}
