/**
 * The budgets and what they have spent: put, delete, reset, which of them a request meets, and what
 * a record adds to them. Looking up costs as much as the path is deep, however many budgets there
 * are. Verdicts are in `judge-budgets.ts`; what is written, in `budget-store.ts`.
 */
import {
  amountSum,
  type BudgetDefinition,
  type BudgetKey,
  budgetId,
  compareBudgets,
} from "../../shared/domain/budget.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import type { RuleSource } from "../../shared/domain/rule.js";
import type { UsageRecord } from "../usage/usage-records.js";
import {
  type Account,
  accountsOf,
  type Budget,
  type Found,
  newAccount,
  startOf,
} from "./budget-account.js";
import { createBudgetIndex } from "./budget-index.js";
import { type PeriodBounds, periodBounds } from "./budget-period.js";
import {
  addFound,
  addPeriod,
  addSpend,
  emptyPeriod,
  findPeriod,
  isFull,
  type PeriodSpend,
} from "./spend.js";

export interface BudgetBookPorts {
  /**
   * What was spent on whole days, from the first midnight at or after `fromMs` to the day of
   * `toMs`, by those whom the account covers.
   */
  spentOnDays(account: Account, fromMs: number, toMs: number): Found | null;
  /**
   * The key of the last records that the journal has taken; none is open when a budget is made or
   * cleared.
   */
  lastRecordKey(): number;
}

export interface BudgetBook {
  readonly budgets: ReadonlyMap<string, Budget>;
  readonly anchors: ResetAnchors;
  /**
   * Creates a budget, or edits the amount of the one with this identity; what was spent stays
   * unless `perChild` changes.
   */
  put(
    definition: BudgetDefinition,
    at: { readonly source: RuleSource; readonly nowMs: number },
  ): { readonly budget: Budget; readonly made: boolean };
  /** A budget from the store, as it was. */
  restore(fields: RestoredBudget): Budget;
  /** When a budget with this identity was last reset; stays when it is deleted. */
  restoreReset(id: string, atMs: number): void;
  resetOf(id: string): number | null;
  delete(key: BudgetKey): Budget | null;
  find(key: BudgetKey): Budget | null;
  /** The running period begins anew. */
  reset(budget: Budget, nowMs: number): void;
  /** Forgets what was spent, so that it is looked up again. */
  clear(budget: Budget, nowMs: number): void;
  setAnchors(anchors: ResetAnchors): void;
  /** The accounts that a request meets; a child that isn't there is made. */
  match(userPath: string, labels: readonly string[], nowMs: number): Account[];
  /** The same without changing anything. */
  copy(userPath: string, labels: readonly string[], nowMs: number): Account[];
  childOf(budget: Budget, child: string): Account;
  /**
   * Adds a record to every account that it meets, in the period in which it ended. Before it is
   * added to the sums of usage.
   */
  charge(record: UsageRecord, labels: readonly string[], nowMs: number): void;
  /** What the account has spent in the running period. */
  running(account: Account, nowMs: number): PeriodSpend;
  /** The running period, from the calendar; a reset within it isn't looked at. */
  boundsOf(budget: Budget, nowMs: number): PeriodBounds;
  takeDirty(): Account[];
  /** Whether this is still the account that a request would meet. */
  isCurrent(account: Account): boolean;
  /**
   * Looks at up to `examined` children, goes on there at the next call, and forgets those whose
   * periods are all over. Returns them.
   */
  forgetIdle(nowMs: number, examined: number): Account[];
  /** All budgets in the order (scope, subject, period). */
  sorted(): readonly Budget[];
}

export type RestoredBudget = Pick<
  Budget,
  "definition" | "source" | "createdAtMs" | "updatedAtMs" | "sinceMs" | "sinceKey" | "backfill"
>;

const unknownBounds: PeriodBounds = { startMs: 0, endMs: 0 };

/** An empty book. */
export function createBudgetBook(ports: BudgetBookPorts, initialAnchors: ResetAnchors): BudgetBook {
  const budgets = new Map<string, Budget>();
  const index = createBudgetIndex();
  const resets = new Map<string, number>();
  let anchors = initialAnchors;
  let dirty: Account[] = [];
  let sorted: readonly Budget[] | null = null;
  let sweep: Iterator<Account> | null = null;

  function make(fields: RestoredBudget): Budget {
    const { definition } = fields;
    const id = budgetId(definition);
    const { source, createdAtMs, updatedAtMs, sinceMs, sinceKey, backfill } = fields;
    // Field by field: budgets are looked at with each request, and spreading gives each a hidden
    // class of its own.
    const budget: Budget = {
      id,
      definition,
      amount: amountSum(definition.amountUsd),
      source,
      createdAtMs,
      updatedAtMs,
      sinceMs,
      sinceKey,
      resetAtMs: resets.get(id) ?? null,
      backfill,
      generation: 0,
      own: null,
      children: new Map(),
      bounds: unknownBounds,
    };
    if (!definition.perChild) budget.own = newAccount(budget, "");
    index.add(budget);
    budgets.set(id, budget);
    sorted = null;
    return budget;
  }

  function remove(budget: Budget): void {
    index.remove(budget);
    budgets.delete(budget.id);
    sorted = null;
  }

  function childOf(budget: Budget, child: string): Account {
    const known = budget.children.get(child);
    if (known !== undefined) return known;
    const account = newAccount(budget, child);
    budget.children.set(child, account);
    return account;
  }

  function boundsOf(budget: Budget, nowMs: number): PeriodBounds {
    if (nowMs < budget.bounds.startMs || nowMs >= budget.bounds.endMs)
      budget.bounds = periodBounds(budget.definition.periodSeconds, anchors, nowMs);
    return budget.bounds;
  }

  function running(account: Account, nowMs: number): PeriodSpend {
    const { budget, spends } = account;
    const bounds = boundsOf(budget, nowMs);
    const known = findPeriod(spends, bounds.startMs);
    if (known !== undefined) return known;
    const period = emptyPeriod(bounds.startMs);
    const fromMs = startOf(budget, bounds, nowMs);
    const found = fromMs <= budget.sinceMs ? ports.spentOnDays(account, fromMs, nowMs) : null;
    if (found !== null) addFound(period, found);
    const dropped = addPeriod(spends, period);
    if (dropped !== undefined) budget.sinceMs = Math.max(budget.sinceMs, dropped.startMs + 1);
    return period;
  }

  function startAt(budget: Budget, atMs: number): number {
    return periodBounds(budget.definition.periodSeconds, anchors, atMs).startMs;
  }

  /**
   * Whether a reset that has come meanwhile belongs to the period of a record and came after it.
   */
  function endedBeforeReset(budget: Budget, atMs: number, startMs: number, nowMs: number): boolean {
    const { resetAtMs } = budget;
    return (
      resetAtMs !== null &&
      atMs < resetAtMs &&
      resetAtMs <= nowMs &&
      startAt(budget, resetAtMs) === startMs
    );
  }

  /**
   * A period that isn't running, for a settle that comes late; undefined for one that is too old to
   * be kept.
   */
  function otherPeriod({ budget, spends }: Account, startMs: number): PeriodSpend | undefined {
    const known = findPeriod(spends, startMs);
    if (known !== undefined) return known;
    if (startMs < budget.sinceMs || isFull(spends, startMs)) {
      budget.sinceMs = Math.max(budget.sinceMs, startMs + 1);
      return undefined;
    }
    const period = emptyPeriod(startMs);
    addPeriod(spends, period);
    return period;
  }

  function markDirty(account: Account): void {
    if (account.dirty) return;
    account.dirty = true;
    dirty.push(account);
  }

  function clear(budget: Budget, nowMs: number): void {
    budget.sinceMs = nowMs;
    budget.sinceKey = ports.lastRecordKey();
    budget.backfill = false;
    budget.generation++;
    budget.bounds = unknownBounds;
    if (budget.own !== null) budget.own = newAccount(budget, "");
    budget.children.clear();
  }

  function* children(): Generator<Account> {
    for (const { children: all } of budgets.values()) yield* all.values();
  }

  return {
    budgets,
    get anchors() {
      return anchors;
    },
    put(definition, { source, nowMs }) {
      const known = budgets.get(budgetId(definition));
      if (known !== undefined && known.definition.perChild === definition.perChild) {
        known.definition = definition;
        known.amount = amountSum(definition.amountUsd);
        known.source = source;
        known.updatedAtMs = nowMs;
        return { budget: known, made: false };
      }
      if (known !== undefined) remove(known);
      return {
        budget: make({
          definition,
          source,
          createdAtMs: known?.createdAtMs ?? nowMs,
          updatedAtMs: nowMs,
          sinceMs: nowMs,
          sinceKey: ports.lastRecordKey(),
          backfill: false,
        }),
        made: true,
      };
    },
    restore: make,
    restoreReset: (id, atMs) => void resets.set(id, atMs),
    resetOf: (id) => resets.get(id) ?? null,
    delete(key) {
      const budget = budgets.get(budgetId(key));
      if (budget !== undefined) remove(budget);
      return budget ?? null;
    },
    find: (key) => budgets.get(budgetId(key)) ?? null,
    reset(budget, nowMs) {
      resets.set(budget.id, nowMs);
      budget.resetAtMs = nowMs;
      budget.backfill = false;
      budget.generation++;
      const { startMs } = boundsOf(budget, nowMs);
      for (const { spends } of accountsOf(budget)) {
        const at = spends.findIndex((period) => period.startMs === startMs);
        if (at !== -1) spends.splice(at, 1, emptyPeriod(startMs));
      }
    },
    clear,
    setAnchors(changed) {
      anchors = changed;
      for (const budget of budgets.values()) budget.bounds = unknownBounds;
    },
    match: (userPath, labels) => index.collect(userPath, labels, childOf),
    copy: (userPath, labels) =>
      index
        .collect(
          userPath,
          labels,
          (budget, child) => budget.children.get(child) ?? newAccount(budget, child),
        )
        .map((account) => ({ ...account, spends: [...account.spends] })),
    childOf,
    charge(record, labels, nowMs) {
      if (record.cacheHit) return;
      for (const account of index.collect(record.userPath, labels, childOf)) {
        const { budget } = account;
        const bounds = boundsOf(budget, nowMs);
        const startMs =
          record.atMs >= bounds.startMs && record.atMs < bounds.endMs
            ? bounds.startMs
            : startAt(budget, record.atMs);
        if (endedBeforeReset(budget, record.atMs, startMs, nowMs)) continue;
        const period =
          startMs === bounds.startMs ? running(account, nowMs) : otherPeriod(account, startMs);
        if (period === undefined) continue;
        addSpend(period, record.totalCost);
        markDirty(account);
      }
    },
    running,
    boundsOf,
    takeDirty() {
      const taken = dirty;
      dirty = [];
      for (const account of taken) account.dirty = false;
      return taken;
    },
    isCurrent: (account) =>
      budgets.get(account.budget.id) === account.budget &&
      (account.budget.own ?? account.budget.children.get(account.child)) === account,
    forgetIdle(nowMs, examined) {
      const forgotten: Account[] = [];
      sweep ??= children();
      for (let i = 0; i < examined; i++) {
        const next = sweep.next();
        if (next.done === true) {
          sweep = null;
          break;
        }
        const account = next.value;
        const { budget, spends } = account;
        const idleFromMs =
          (spends.at(-1)?.startMs ?? 0) + 2 * budget.definition.periodSeconds * 1000;
        if (account.dirty || budget.backfill || nowMs < idleFromMs) continue;
        budget.children.delete(account.child);
        // Should the clock step back, its periods are looked up.
        budget.sinceMs = Math.max(budget.sinceMs, (spends.at(-1)?.startMs ?? 0) + 1);
        forgotten.push(account);
      }
      return forgotten;
    },
    sorted() {
      sorted ??= [...budgets.values()].sort((a, b) => compareBudgets(a.definition, b.definition));
      return sorted;
    },
  };
}
