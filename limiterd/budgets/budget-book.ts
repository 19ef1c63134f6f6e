/**
 * The budgets and their accounts: put, delete, reset, and which accounts a request meets. Not here:
 * what an account has spent in a period (`account-periods.ts`), verdicts (`judge-budgets.ts`), and
 * what is written (`stored-budget.ts`).
 */
import { childrenPerTemplateMax } from "../../shared/bounds.js";
import {
  amountSum,
  type BudgetDefinition,
  type BudgetKey,
  budgetId,
  compareBudgets,
} from "../../shared/domain/budget.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import { SortedList } from "../../shared/long-lists.js";
import type { UsageRecord } from "../usage/usage-records.js";
import { AccountPeriods, type SpentOnDays } from "./account-periods.js";
import { AccountSweep } from "./account-sweep.js";
import {
  type Account,
  type Budget,
  type BudgetReset,
  type BudgetWriting,
  childOf,
  freshAccount,
  type KnownResets,
  knownChildOf,
  neverReset,
  newAccount,
  newBudget,
  type OtherHosts,
  type RestoredBudget,
} from "./budget-account.js";
import { BudgetIndex, type ChildAccount } from "./budget-index.js";
import { type PeriodBounds, unknownBounds } from "./budget-period.js";
import { ChildAccounts } from "./child-accounts.js";
import { type PeriodSpend, periodsMax } from "./spend.js";

export interface BudgetBookPorts {
  readonly spentOnDays: SpentOnDays;
  /**
   * The key of the last records that the journal has taken; none is open when a budget is created
   * or cleared.
   */
  lastRecordKey(): number;
}

export class BudgetBook {
  /** Null without a cluster. */
  others: OtherHosts | null = null;
  readonly #budgets = new Map<string, Budget>();
  readonly #index = new BudgetIndex();
  readonly #periods: AccountPeriods;
  readonly #lastRecordKey: () => number;
  readonly #childrenMax: number;
  readonly #judgedChild: ChildAccount = (budget, child, nowMs) =>
    this.#periods.isLookedUp(budget, nowMs) && !this.#isFull(budget)
      ? childOf(budget, child)
      : knownChildOf(budget, child);
  /** The last resets of a budget, by its id; outlives the budget. */
  readonly #resets = new Map<string, KnownResets>();
  #dirty: Account[] = [];
  readonly #sorted = new SortedList<BudgetKey, Budget>(compareBudgets);
  readonly #sweep = new AccountSweep(this.#budgets);

  /** An empty book; `childrenMax` bounds the children of each template. */
  constructor(
    { spentOnDays, lastRecordKey }: BudgetBookPorts,
    anchors: ResetAnchors,
    childrenMax = childrenPerTemplateMax,
  ) {
    this.#childrenMax = childrenMax;
    this.#periods = new AccountPeriods(spentOnDays, anchors);
    this.#lastRecordKey = lastRecordKey;
  }

  get budgets(): ReadonlyMap<string, Budget> {
    return this.#budgets;
  }

  get anchors(): ResetAnchors {
    return this.#periods.anchors;
  }

  /** Returns the budgets whose running period has other bounds now. */
  setAnchors(anchors: ResetAnchors, nowMs: number): Budget[] {
    return this.#periods.setAnchors(anchors, this.#budgets.values(), nowMs);
  }

  /**
   * Creates a budget, or edits the amount of the one with this identity; what was spent stays
   * unless `perChild` changes.
   */
  put(
    definition: BudgetDefinition,
    { source, nowMs, createdAtMs = nowMs }: BudgetWriting,
  ): { readonly budget: Budget; readonly made: boolean } {
    const known = this.#budgets.get(budgetId(definition));
    if (known !== undefined && known.definition.perChild === definition.perChild) {
      known.definition = definition;
      known.amount = amountSum(definition.amountUsd);
      known.source = source;
      known.updatedAtMs = nowMs;
      return { budget: known, made: false };
    }
    if (known !== undefined) this.#remove(known);
    const budget = this.restore({
      definition,
      source,
      createdAtMs: known?.createdAtMs ?? createdAtMs,
      updatedAtMs: nowMs,
      sinceMs: nowMs,
      sinceKey: this.#lastRecordKey(),
      backfill: false,
    });
    return { budget, made: true };
  }

  /** A budget from the store, as it was. */
  restore(fields: RestoredBudget): Budget {
    const id = budgetId(fields.definition);
    const budget = newBudget(id, fields, this.#resets.get(id) ?? neverReset);
    this.#index.add(budget);
    this.#budgets.set(id, budget);
    this.#sorted.add(budget);
    return budget;
  }

  delete(key: BudgetKey): Budget | null {
    const budget = this.find(key);
    if (budget !== null) this.#remove(budget);
    return budget;
  }

  #remove(budget: Budget): void {
    this.#index.remove(budget);
    this.#budgets.delete(budget.id);
    this.#sorted.remove(budget);
  }

  find(key: BudgetKey): Budget | null {
    return this.#budgets.get(budgetId(key)) ?? null;
  }

  /** All budgets in the order (scope, subject, period). */
  sorted(): readonly Budget[] {
    return this.#sorted.all(this.#budgets.values());
  }

  /** When a budget was last reset, and its last resets; before the budget is restored. */
  restoreReset(
    id: string,
    atMs: number,
    periods: readonly Pick<BudgetReset, "startMs" | "recordKey">[],
  ): void {
    const resets = periods.map((period, i) => ({ ...period, generation: i + 1 }));
    this.#resets.set(id, { atMs, resets });
  }

  /** The running period begins anew: for each account when it is next looked at. */
  reset(budget: Budget, nowMs: number): void {
    const { startMs } = this.boundsOf(budget, nowMs);
    const generation = ++budget.generation;
    const reset = { startMs, recordKey: this.#lastRecordKey(), generation };
    budget.resets = [...budget.resets, reset].slice(-periodsMax);
    budget.resetAtMs = nowMs;
    budget.backfill = false;
    this.#resets.set(budget.id, { atMs: nowMs, resets: budget.resets });
    if (budget.own !== null) freshAccount(budget.own);
  }

  /** Forgets what was spent, so that it is looked up again. */
  clear(budget: Budget, nowMs: number): void {
    budget.sinceMs = nowMs;
    budget.sinceKey = this.#lastRecordKey();
    budget.backfill = false;
    budget.generation++;
    budget.bounds = unknownBounds;
    if (budget.own !== null) budget.own = newAccount(budget, "");
    // Not cleared: the former children are still being removed from the store.
    budget.children = new ChildAccounts();
    budget.unread = null;
  }

  /**
   * The accounts that a request meets. One that isn't there isn't kept, so that refused requests
   * leave nothing; unless what it has spent must be looked up, which is done once.
   */
  match(userPath: string, labels: readonly string[], nowMs: number): Account[] {
    return this.#index.collect(userPath, labels, nowMs, this.#judgedChild);
  }

  /** The same without changing anything. */
  copy(userPath: string, labels: readonly string[], nowMs: number): Account[] {
    return this.#index
      .collect(userPath, labels, nowMs, knownChildOf)
      .map((account) => ({ ...account, spends: [...account.spends] }));
  }

  /**
   * Adds a record to every account that it meets, in the period in which it ended. Before it is
   * added to the sums of usage.
   */
  charge(record: UsageRecord, labels: readonly string[], nowMs: number): void {
    if (record.cacheHit) return;
    for (const account of this.#index.collect(record.userPath, labels, nowMs, childOf)) {
      if (!this.#periods.charge(account, record, nowMs)) continue;
      this.others?.charged(account);
      if (!account.dirty) this.#dirty.push(account);
      account.dirty = true;
    }
  }

  /** What the account has spent in the running period. */
  running(account: Account, nowMs: number): PeriodSpend {
    return this.#periods.running(account, nowMs);
  }

  /** The running period, from the calendar; a reset within it is ignored. */
  boundsOf(budget: Budget, nowMs: number): PeriodBounds {
    return this.#periods.boundsOf(budget, nowMs);
  }

  /**
   * Whether this is the account of a child that isn't kept, of a template that has as many as it
   * may have.
   */
  hasNoRoom({ budget, child }: Account): boolean {
    return this.#isFull(budget) && !budget.children.has(child);
  }

  #isFull({ own, children }: Budget): boolean {
    return own === null && children.size >= this.#childrenMax;
  }

  /** The accounts that changed since the last call. */
  takeDirty(): Account[] {
    const taken = this.#dirty;
    this.#dirty = [];
    for (const account of taken) account.dirty = false;
    return taken;
  }

  /** Whether this is still the account that a request would meet. */
  isCurrent(account: Account): boolean {
    const { budget } = account;
    return (
      this.#budgets.get(budget.id) === budget &&
      (budget.own ?? budget.children.get(account.child)) === account
    );
  }

  /**
   * Examines up to `examined` children, continues there at the next call, and forgets those whose
   * periods are all over. Returns them.
   */
  forgetIdle(nowMs: number, examined: number): Account[] {
    return this.#sweep.forgetIdle(nowMs, examined);
  }
}
