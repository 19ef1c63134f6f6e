/**
 * The budgets and their accounts: put, delete, reset, and which accounts a request has. Not here:
 * the spend of an account in a period (`account-periods.ts`), verdicts (`judge-budgets.ts`), and
 * the form in the store (`stored-budget.ts`).
 */
import { childrenPerTemplateMax } from "../../shared/bounds.js";
import { ModelFilter } from "../../shared/config/model-filter.js";
import type { ModelNamings } from "../../shared/config/model-name.js";
import {
  amountSum,
  type BudgetDefinition,
  type BudgetKey,
  budgetId,
  budgetPath,
  budgetTargets,
  compareBudgets,
  isPerSession,
} from "../../shared/domain/budget.js";
import { hasSamePeriods } from "../../shared/domain/budget-calendar.js";
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";
import type { Target } from "../../shared/domain/target-name.js";
import { SortedList } from "../../shared/long-lists.js";
import { SpreadMap } from "../../shared/spread-map.js";
import { nextEnd } from "../rules/rule-index.js";
import type { UsageRecord } from "../usage/usage-records.js";
import { AccountPeriods, type SpentOnDays } from "./account-periods.js";
import {
  type Account,
  type Budget,
  type BudgetReset,
  type BudgetWriting,
  childOf,
  dropPeriod,
  freshAccount,
  type KnownResets,
  knownChildOf,
  neverReset,
  newAccount,
  newBudget,
  type OtherHosts,
  type RestoredBudget,
  sessionChild,
} from "./budget-account.js";
import { isRolling, lengthSeconds, type PeriodBounds, unknownBounds } from "./budget-period.js";
import { RecentSpend } from "./recent-spend.js";
import { type PeriodSpend, periodsMax } from "./spend.js";

/** Whose request it is, or was. */
export interface BudgetCaller {
  readonly userPath: string;
  /** As the request names it; absent or empty: it names none. */
  readonly session?: string | undefined;
}

export interface BudgetBookPorts {
  readonly spentOnDays: SpentOnDays;
  /**
   * The key of the last records in a closed batch; no records are in the open batch when a budget
   * is created or cleared.
   */
  lastRecordKey(): number;
}

export class BudgetBook {
  /** The other hosts of the cluster; null without a cluster. */
  others: OtherHosts | null = null;
  /** Called after each charge of a kept account; null if nothing watches. */
  onCharged: ((account: Account, nowMs: number) => void) | null = null;
  /** Called when an account gets dirty: the open batch must take it to the store. */
  onDirty = (): void => {};
  readonly #budgets = new Map<string, Budget>();
  /** By id. */
  readonly budgets: ReadonlyMap<string, Budget> = this.#budgets;
  readonly #index: BudgetIndex;
  readonly #periods: AccountPeriods;
  readonly #lastRecordKey: () => number;
  readonly #childrenMax: number;
  readonly #judgedChild: ChildAccount = (budget, child, nowMs) =>
    this.#periods.mustLookUp(budget, nowMs) && !this.#isFull(budget)
      ? childOf(budget, child)
      : knownChildOf(budget, child);
  /**
   * The account that is charged. Beyond the bound on children, sessions aren't limited: a caller
   * that invents sessions mustn't block those of other callers.
   */
  readonly #chargedChild: ChildAccount = (budget, child) =>
    isPerSession(budget.definition) && this.#isFull(budget)
      ? knownChildOf(budget, child)
      : childOf(budget, child);
  /** The last resets of budgets, by budget id. They outlive the budget. */
  readonly #resets = new Map<string, KnownResets>();
  /** The spend of the last two hours, for forecasts. */
  readonly recentSpend = new RecentSpend();
  /** The budgets with raises. */
  readonly raisedBudgets = new Set<Budget>();
  /** The ids of budgets with `unpriced: refuse`. */
  readonly refusingIds = new Set<string>();
  /** The ids of budgets with `on_exhausted`. */
  readonly lenientIds = new Set<string>();
  /** The ids of budgets that are hard caps. */
  readonly hardIds = new Set<string>();
  /** The ids of budgets whose amount each session has. */
  readonly perSessionIds = new Set<string>();
  #dirty: Account[] = [];
  readonly #sorted = new SortedList<BudgetKey, Budget>(compareBudgets);
  /** Where `forgetIdle` continues. */
  #nextChild: Iterator<Account> | null = null;

  /**
   * An empty book; `childrenMax` bounds the children of each template, `providers` are the
   * configured ones.
   */
  constructor(
    { spentOnDays, lastRecordKey }: BudgetBookPorts,
    anchors: ResetAnchors,
    childrenMax = childrenPerTemplateMax,
    providers: ModelNamings = new Map(),
  ) {
    this.#index = new BudgetIndex(providers);
    this.#childrenMax = childrenMax;
    this.#periods = new AccountPeriods(spentOnDays, anchors);
    this.#lastRecordKey = lastRecordKey;
  }

  get anchors(): ResetAnchors {
    return this.#periods.anchors;
  }

  /** Sets the anchors and returns the budgets whose running period gets new bounds. */
  setAnchors(anchors: ResetAnchors, nowMs: number): Budget[] {
    return this.#periods.setAnchors(anchors, this.#budgets.values(), nowMs);
  }

  /**
   * Creates a budget, or edits the one with this identity. An edit keeps the spend unless
   * `perChild` or the periods change, and the raises unless `perChild` changes.
   */
  put(
    definition: BudgetDefinition,
    { source, nowMs, createdAtMs = nowMs }: BudgetWriting,
  ): { readonly budget: Budget; readonly isNew: boolean } {
    const existing = this.#budgets.get(budgetId(definition));
    if (
      existing !== undefined &&
      existing.definition.perChild === definition.perChild &&
      hasSamePeriods(existing.definition, definition)
    ) {
      existing.definition = definition;
      // Makes `boundsOf` compute `previousStartMs`, too, if the edit adds `rollover`.
      existing.bounds = unknownBounds;
      existing.amount = amountSum(definition.amountUsd);
      existing.source = source;
      existing.updatedAtMs = nowMs;
      this.#noteKinds(existing);
      return { budget: existing, isNew: false };
    }
    if (existing !== undefined) this.#remove(existing);
    const budget = this.restore({
      definition,
      source,
      createdAtMs: existing?.createdAtMs ?? createdAtMs,
      updatedAtMs: nowMs,
      sinceMs: nowMs,
      sinceKey: this.#lastRecordKey(),
      isBackfilling: false,
    });
    if (
      existing !== undefined &&
      existing.raises !== null &&
      existing.definition.perChild === definition.perChild
    ) {
      budget.raises = existing.raises;
      this.raisedBudgets.add(budget);
    }
    return { budget, isNew: true };
  }

  /** Adds a budget from the store unchanged. */
  restore(fields: RestoredBudget): Budget {
    const id = budgetId(fields.definition);
    const budget = newBudget(id, fields, this.#resets.get(id) ?? neverReset);
    this.#index.add(budget);
    this.#budgets.set(id, budget);
    this.#sorted.add(budget);
    this.#noteKinds(budget);
    return budget;
  }

  #noteKinds({ id, definition }: Budget): void {
    if (definition.unpriced === "refuse") this.refusingIds.add(id);
    else this.refusingIds.delete(id);
    if (definition.onExhausted !== undefined) this.lenientIds.add(id);
    else this.lenientIds.delete(id);
    if (definition.hold === "hard") this.hardIds.add(id);
    else this.hardIds.delete(id);
    if (isPerSession(definition)) this.perSessionIds.add(id);
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
    this.refusingIds.delete(budget.id);
    this.lenientIds.delete(budget.id);
    this.hardIds.delete(budget.id);
    this.perSessionIds.delete(budget.id);
    this.raisedBudgets.delete(budget);
  }

  find(key: BudgetKey): Budget | null {
    return this.#budgets.get(budgetId(key)) ?? null;
  }

  /** All budgets in the order (scope, subject, period). */
  sorted(): readonly Budget[] {
    return this.#sorted.all(this.#budgets.values());
  }

  /** Restores the last resets of a budget; call it before the budget is restored. */
  restoreReset(
    id: string,
    atMs: number,
    periods: readonly Pick<BudgetReset, "startMs" | "recordKey">[],
  ): void {
    const resets = periods.map((period, i) => ({ ...period, generation: i + 1 }));
    this.#resets.set(id, { atMs, resets });
  }

  /**
   * Resets the running period; each account applies the reset when it is next used. Only the last
   * reset of a period is kept.
   */
  reset(budget: Budget, nowMs: number): void {
    const { startMs } = this.boundsOf(budget, nowMs);
    const generation = ++budget.generation;
    const reset = { startMs, recordKey: this.#lastRecordKey(), generation };
    const ofOtherPeriods = budget.resets.filter((former) => former.startMs !== startMs);
    budget.resets = [...ofOtherPeriods, reset].slice(-periodsMax);
    budget.resetAtMs = nowMs;
    budget.isBackfilling = false;
    this.#resets.set(budget.id, { atMs: nowMs, resets: budget.resets });
    if (budget.own !== null) freshAccount(budget.own);
  }

  /** Clears the spend of a budget; a backfill then looks it up again. */
  clear(budget: Budget, nowMs: number): void {
    budget.sinceMs = nowMs;
    budget.sinceKey = this.#lastRecordKey();
    budget.isBackfilling = false;
    budget.generation++;
    budget.bounds = unknownBounds;
    if (budget.own !== null) budget.own = newAccount(budget, "");
    // Replaced, not emptied: the former children are still being removed from the store.
    budget.children = new SpreadMap();
    budget.loadSpend = null;
  }

  /**
   * The accounts of a request, except those of budgets for some models. The account of a new child
   * isn't kept, so that refused requests leave nothing behind. It is kept only if its past spend
   * must be looked up: that should happen once.
   */
  match(caller: BudgetCaller, labels: readonly string[], nowMs: number): Account[] {
    return this.#index.collect(caller, labels, nowMs, this.#judgedChild);
  }

  /** The accounts of budgets for some models that cover the path and this target. */
  matchTarget(target: Target, caller: BudgetCaller, nowMs: number): Account[] {
    return this.#index.collectForModels(caller, target, nowMs, this.#judgedChild);
  }

  /** Copies of the accounts of a request; changes nothing. */
  copy(caller: BudgetCaller, labels: readonly string[], nowMs: number): Account[] {
    return this.#index.collect(caller, labels, nowMs, knownChildOf).map(copyAccount);
  }

  /** Copies of the accounts of `matchTarget`; without a target, of those for any models. */
  copyForModels(target: Target | null, caller: BudgetCaller, nowMs: number): Account[] {
    return this.#index.collectForModels(caller, target, nowMs, knownChildOf).map(copyAccount);
  }

  /** The models that a budget is for; null: all. */
  filterOf(budget: Budget): ModelFilter | null {
    return this.#index.filterOf(budget);
  }

  /**
   * Charges a record to each of its accounts, in the period in which it ended. Call it before the
   * record is added to the sums of usage. `target`: the record's target, with the model's name even
   * if the record hides it.
   */
  charge(
    record: UsageRecord,
    labels: readonly string[],
    nowMs: number,
    target: Target = record,
  ): void {
    if (record.cacheHit) return;
    const pathAccounts = this.#index.collect(record, labels, nowMs, this.#chargedChild);
    this.#charge(pathAccounts, record, nowMs);
    const modelAccounts = this.#index.collectForModels(record, target, nowMs, this.#chargedChild);
    this.#charge(modelAccounts, record, nowMs);
  }

  #charge(accounts: readonly Account[], record: UsageRecord, nowMs: number): void {
    for (const account of accounts) {
      if (!this.#periods.charge(account, record, nowMs)) continue;
      this.others?.noteCharge(account, record.totalCost ?? 0);
      const isOfSession = isPerSession(account.budget.definition);
      if (!isOfSession) this.recentSpend.add(account, record.totalCost, nowMs);
      if (!account.isDirty) {
        this.#dirty.push(account);
        this.onDirty();
      }
      account.isDirty = true;
      if (!isOfSession) this.onCharged?.(account, nowMs);
    }
  }

  /** The account's spend in the running period. */
  runningPeriod(account: Account, nowMs: number): PeriodSpend {
    return this.#periods.runningPeriod(account, nowMs);
  }

  /** The running period, from the calendar; a reset within it is ignored. */
  boundsOf(budget: Budget, nowMs: number): PeriodBounds {
    return this.#periods.boundsOf(budget, nowMs);
  }

  /** As `runningPeriod`, for the period to which a backfill adds what was spent at `atMs`. */
  lookedUpPeriod(account: Account, atMs: number, nowMs: number): PeriodSpend {
    return this.#periods.lookedUpPeriod(account, atMs, nowMs);
  }

  /**
   * Until when the spend of the running period counts: to its end, or longer for rolling budgets
   * and for those with `rollover`.
   */
  countsUntil(budget: Budget, nowMs: number): number {
    const { endMs } = this.boundsOf(budget, nowMs);
    const { definition } = budget;
    if (!isRolling(definition) && definition.rollover === undefined) return endMs;
    // The next period may be longer: a month has up to 31 days.
    return endMs + 1.1 * lengthSeconds(definition) * 1000;
  }

  /**
   * Whether this child's account can't be kept, because its template has reached the bound on
   * children. Sessions beyond it aren't limited.
   */
  hasNoRoom({ budget, child }: Account): boolean {
    return this.#isFull(budget) && !isPerSession(budget.definition) && !budget.children.has(child);
  }

  #isFull({ own, children }: Budget): boolean {
    return own === null && children.size >= this.#childrenMax;
  }

  /** The accounts that changed since the last call. */
  takeDirty(): Account[] {
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const account of dirty) account.isDirty = false;
    return dirty;
  }

  /** Whether this is still the account that applies to requests. */
  isCurrent(account: Account): boolean {
    const { budget } = account;
    return (
      this.#budgets.get(budget.id) === budget &&
      (budget.own ?? budget.children.get(account.child)) === account
    );
  }

  /**
   * Examines up to `examined` children of templates, continuing where the last call stopped.
   * Removes and returns those whose periods are all over.
   */
  forgetIdle(nowMs: number, examined: number): Account[] {
    const forgotten: Account[] = [];
    this.#nextChild ??= allChildren(this.#budgets);
    for (let i = 0; i < examined; i++) {
      const next = this.#nextChild.next();
      if (next.done === true) {
        this.#nextChild = null;
        break;
      }
      const account = next.value;
      const { budget, spends } = account;
      // Its budget was deleted or cleared since the walk began.
      if (this.#budgets.get(budget.id) !== budget || budget.children.get(account.child) !== account)
        continue;
      // With `rollover` a period's rest counts in the next period; and months differ in length.
      const { definition } = budget;
      const lengths = isPerSession(definition) ? 1.1 : definition.rollover === undefined ? 2 : 3;
      const keptMs = lengths * lengthSeconds(definition) * 1000;
      // A period far in the future was begun before a clock step back.
      const isNear = spends.some(({ startMs }) => Math.abs(nowMs - startMs) < keptMs);
      if (account.isDirty || budget.isBackfilling || isNear) continue;
      budget.children.delete(account.child);
      // If the clock steps back, a new account looks its periods up again.
      const lastStartMs = spends.findLast(({ startMs }) => startMs <= nowMs)?.startMs ?? 0;
      dropPeriod(budget, lastStartMs);
      forgotten.push(account);
    }
    return forgotten;
  }
}

function copyAccount(account: Account): Account {
  return { ...account, spends: [...account.spends] };
}

function* allChildren(budgets: ReadonlyMap<string, Budget>): Generator<Account> {
  for (const { children } of budgets.values()) yield* children.values();
}

/** The account of one direct child of a template, or of one session. */
type ChildAccount = (budget: Budget, child: string, nowMs: number) => Account;

const noBudgets: readonly Budget[] = [];
const noAccounts: Account[] = [];

/** Finds the accounts of a request: of its labels, its path and the ancestors of the path. */
export class BudgetIndex {
  readonly #bySubject = {
    user_path: new Map<string, readonly Budget[]>(),
    label: new Map<string, readonly Budget[]>(),
  };
  /**
   * The budgets for some targets, by path: those of user paths that are for some models, and those
   * of providers and models, under the root path.
   */
  readonly #forModels = new Map<string, readonly Budget[]>();
  readonly #filters = new Map<Budget, ModelFilter>();
  readonly #providers: ModelNamings;
  #size = 0;

  constructor(providers: ModelNamings = new Map()) {
    this.#providers = providers;
  }

  add(budget: Budget): void {
    const targets = budgetTargets(budget.definition);
    if (targets !== null) this.#filters.set(budget, new ModelFilter(targets, this.#providers));
    const bySubject = this.#mapOf(budget);
    const subject = subjectInIndex(budget);
    const budgets = [...(bySubject.get(subject) ?? noBudgets), budget];
    bySubject.set(
      subject,
      budgets.sort((a, b) => compareBudgets(a.definition, b.definition)),
    );
    this.#size++;
  }

  remove(budget: Budget): void {
    const bySubject = this.#mapOf(budget);
    const subject = subjectInIndex(budget);
    const remaining = bySubject.get(subject)!.filter((indexed) => indexed !== budget);
    if (remaining.length === 0) bySubject.delete(subject);
    else bySubject.set(subject, remaining);
    if (budgetTargets(budget.definition) !== null) this.#filters.delete(budget);
    this.#size--;
  }

  #mapOf({ definition }: Budget): Map<string, readonly Budget[]> {
    if (budgetTargets(definition) !== null) return this.#forModels;
    return definition.scope === "label" ? this.#bySubject.label : this.#bySubject.user_path;
  }

  filterOf(budget: Budget): ModelFilter | null {
    return this.#filters.get(budget) ?? null;
  }

  /**
   * The accounts of budgets for some models, from the root down; without a target, for any models.
   */
  collectForModels(
    caller: BudgetCaller,
    target: Target | null,
    nowMs: number,
    childAccount: ChildAccount,
  ): Account[] {
    if (this.#forModels.size === 0) return noAccounts;
    const { userPath } = caller;
    const accounts: Account[] = [];
    for (let end = 0; end !== -1; end = nextEnd(userPath, end))
      for (const budget of this.#forModels.get(end === 0 ? "/" : userPath.slice(0, end)) ??
        noBudgets) {
        if (target !== null && !this.#filters.get(budget)!.covers(target)) continue;
        if (budget.own !== null) accounts.push(budget.own);
        else {
          const child = childIn(budget, caller, end + 1);
          if (child !== null) accounts.push(childAccount(budget, child, nowMs));
        }
      }
    return accounts;
  }

  /**
   * The accounts of budgets for all models: first those of labels, then those of paths from the
   * root down; for each subject shorter periods first.
   */
  collect(
    caller: BudgetCaller,
    labels: readonly string[],
    nowMs: number,
    childAccount: ChildAccount,
  ): Account[] {
    if (this.#size === 0) return noAccounts;
    const { userPath } = caller;
    const { user_path: byPath, label: byLabel } = this.#bySubject;
    const accounts: Account[] = [];
    for (const label of labels)
      for (const { own } of byLabel.get(label) ?? noBudgets) if (own !== null) accounts.push(own);
    for (let end = 0; ; ) {
      for (const budget of byPath.get(end === 0 ? "/" : userPath.slice(0, end)) ?? noBudgets) {
        if (budget.own !== null) accounts.push(budget.own);
        else {
          const child = childIn(budget, caller, end + 1);
          if (child !== null) accounts.push(childAccount(budget, child, nowMs));
        }
      }
      if (end === userPath.length || userPath.length === 1) return accounts;
      const next = userPath.indexOf("/", end + 1);
      end = next === -1 ? userPath.length : next;
    }
  }
}

/** The path or label under which a budget is found. */
function subjectInIndex({ definition }: Budget): string {
  return budgetPath(definition) ?? definition.subject;
}

/**
 * The child of a budget to which a request belongs; null if it belongs to none. `from`: where the
 * child's name begins in the path.
 */
function childIn(
  { definition }: Budget,
  { userPath, session = "" }: BudgetCaller,
  from: number,
): string | null {
  if (definition.perChild && from >= userPath.length) return null;
  if (!isPerSession(definition)) return segmentAt(userPath, from);
  return session === "" ? null : sessionChild(userPath.slice(from), session);
}

/** The segment of a path that begins at `from`. */
function segmentAt(userPath: string, from: number): string {
  const end = userPath.indexOf("/", from);
  return end === -1 ? userPath.slice(from) : userPath.slice(from, end);
}
