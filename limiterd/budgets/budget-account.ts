/** A budget in memory with its accounts. `budget-book.ts` finds and changes them. */

import { amountSum, type BudgetDefinition, isPerSession } from "../../shared/domain/budget.js";
import type { MoneySum, PicoUsd } from "../../shared/domain/money.js";
import { type Raise, raisedAmount } from "../../shared/domain/raise.js";
import type { DeclaredAt, RuleSource } from "../../shared/domain/rule.js";
import { childPath } from "../../shared/domain/user-path.js";
import { append } from "../../shared/long-lists.js";
import { type NamedValues, SpreadMap } from "../../shared/spread-map.js";
import type { Held } from "../counters/held.js";
import type { ClaimNeeds } from "../counters/window.js";
import { countedFrom, isRolling, type PeriodBounds, unknownBounds } from "./budget-period.js";
import { clearPeriod, type PeriodSpend, type Spends } from "./spend.js";

/** One account: a budget's own, or that of one direct child of a template, or of one session. */
export interface Account {
  readonly budget: Budget;
  /** Its name in messages: the budget's subject, or the path of the child or the session. */
  readonly subject: string;
  /**
   * The child's segment below the template; for a session as `sessionChild`; empty for a budget's
   * own account.
   */
  readonly child: string;
  readonly spends: Spends;
  /** Whether it has changed since the last batch of the journal. */
  isDirty: boolean;
  /**
   * The key up to which the restored account includes every record; 0 if it wasn't read from the
   * store.
   */
  restoredKey: number;
  /** The budget's `generation` up to which its resets are applied to this account. */
  generation: number;
  /** Its spend of the last two hours; null if there is none, or it isn't known. */
  recent: RecentSums | null;
}

/** What an account has spent recently, by steps of time (`recent-spend.ts`). */
export interface RecentSums {
  /** Pico-dollars, by step modulo their number. */
  readonly sums: Float64Array;
  /** The last step with a sum. */
  step: number;
  /** Spend before this time isn't known. */
  readonly sinceMs: number;
}

/** A reset of a budget. Accounts that were stored before it must apply it. */
export interface BudgetReset {
  /** The start of the period that was running, before any reset. */
  readonly startMs: number;
  /**
   * The key of the last records before the reset: a stored account with this key or a lower one is
   * from before the reset.
   */
  readonly recordKey: number;
  /** The budget's `generation` after the reset. */
  readonly generation: number;
}

/** An account in the store, which includes every record up to `recordKey`. */
export interface StoredSpend {
  readonly recordKey: number;
  readonly spends: Spends;
}

/** The resets of a budget; they outlive the budget. */
export interface KnownResets {
  /** Null: never. */
  readonly atMs: number | null;
  readonly resets: readonly BudgetReset[];
}

export const neverReset: KnownResets = { atMs: null, resets: [] };

export interface Budget {
  readonly id: string;
  /** An edit that changes its periods, or `perChild`, makes another budget. */
  definition: BudgetDefinition;
  amount: MoneySum;
  source: RuleSource;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /**
   * The spend of periods that began by this time may be unknown, because the budget didn't exist
   * yet or has dropped them. It is looked up in the records.
   */
  sinceMs: number;
  /**
   * The key of the last records before its current accounts were created: older entries of the log
   * of spends belong to former accounts.
   */
  sinceKey: number;
  /** Null: never. */
  resetAtMs: number | null;
  /**
   * Whether a backfill is looking up what was spent in the running period before the budget
   * existed.
   */
  isBackfilling: boolean;
  /** Grows with each reset or clearing of the spend. */
  generation: number;
  /**
   * The last resets, oldest first: as many as an account has periods. Each account applies them
   * when it is next used, because a template may have a million accounts.
   */
  resets: readonly BudgetReset[];
  /** Null for a template, and for a budget per session. */
  own: Account | null;
  children: NamedValues<Account>;
  /**
   * Loads the account of a child lazily after a start; null once all accounts are in memory, or
   * stored ones don't count any more.
   */
  loadSpend: ((child: string) => StoredSpend | null) | null;
  /** The running period, or the running slice of a rolling budget, as last computed. */
  bounds: PeriodBounds;
  /** The start of the period before it; computed for budgets with `rollover` only. */
  previousStartMs: number;
  /** Where the configuration declares it; null if it doesn't, or if the place isn't known. */
  declaredAt: DeclaredAt | null;
  /** Null: its amount is that of the definition. */
  raises: readonly Raise[] | null;
  /**
   * What running requests hold of it as a hard cap, in pico-dollars; null if nothing was ever held.
   */
  held: Held | null;
}

/** The part of a hard budget that counts at a moment, in pico-dollars. */
export interface CountedPart {
  /** Periods or slices that begin between `fromMs` and `endMs` count. */
  readonly fromMs: number;
  readonly endMs: number;
  /** Claims of other hosts count from this start of a period or slice on. */
  readonly claimsFromMs: number;
  readonly amount: number;
  /** The spend of this host. */
  readonly spentHere: () => number;
}

/**
 * The claims of hosts to the amount of a hard budget: what their running requests hold, and an
 * advance (`docs/several-hosts.md`). In pico-dollars.
 */
export interface BudgetClaims {
  /** What other hosts claim beyond what they have spent. */
  claimedByOthers(account: Account, part: CountedPart): number;
  /** What this host may still use of its own claim, with what its requests hold. */
  leftOf(account: Account, part: CountedPart): number;
  /** Whether this host must claim more before it may use what is needed. */
  lacks(account: Account, part: CountedPart, needs: ClaimNeeds): boolean;
  /** Notes in this turn that the judgement lacks this amount, and includes it in the next claim. */
  want(account: Account, amount: number): void;
  /** Call when a request may use the claim: asks for more before the claim is used up. */
  renew(account: Account, part: CountedPart): void;
}

/** What is known of the spend of the other hosts. */
export interface KnownSpend {
  /** Null if hosts claim nothing, or if only spend is compared (`peek`). */
  readonly claims: BudgetClaims | null;
  /** Their spend in the period that began at `startMs`, or null. */
  spentIn(account: Account, startMs: number): PeriodSpend | null;
  /** Their spend by period. */
  periodsOf(account: Account): readonly PeriodSpend[];
}

/**
 * The other hosts that share the budgets. Reading an account's spend follows the account for a
 * while: its spend is then kept up to date. Only `refresh` waits for the other hosts.
 */
export interface OtherHosts extends KnownSpend {
  /** As this object, but follows no account: for lists that compare all accounts. */
  readonly peek: KnownSpend;
  /** The age of what is known of an account's spend, in ms; null if it was never read. */
  seenAgeMs(account: Account): number | null;
  /** Reads the spend again; resolves within half a second even if the engine doesn't answer. */
  refresh(accounts: Iterable<Account>): Promise<void>;
  /** Notes that this host's spend has grown by this much. */
  noteCharge(account: Account, cost: PicoUsd): void;
  /** Notes that the past spend of a budget was looked up. */
  lookedUp(budget: Budget): void;
}

/** Spend that a look-up has found in the records or their sums. */
export interface RecordedSpend {
  readonly spent: MoneySum;
  readonly requests: number;
}

/**
 * The source and time of a change of a budget; `createdAtMs`: when the budget was first made, by
 * default `nowMs`.
 */
export interface BudgetWriting {
  readonly source: RuleSource;
  readonly nowMs: number;
  readonly createdAtMs?: number;
}

/** The fields from which a budget is restored. */
export type RestoredBudget = Pick<
  Budget,
  "definition" | "source" | "createdAtMs" | "updatedAtMs" | "sinceMs" | "sinceKey" | "isBackfilling"
>;

/** A budget without spend. */
export function newBudget(
  id: string,
  {
    definition,
    source,
    createdAtMs,
    updatedAtMs,
    sinceMs,
    sinceKey,
    isBackfilling,
  }: RestoredBudget,
  { atMs: resetAtMs, resets }: KnownResets,
): Budget {
  // Field by field: each request reads budgets, and with a spread V8 would give each budget its own
  // hidden class.
  const budget: Budget = {
    id,
    definition,
    amount: amountSum(definition.amountUsd),
    source,
    createdAtMs,
    updatedAtMs,
    sinceMs,
    sinceKey,
    resetAtMs,
    isBackfilling,
    generation: resets.at(-1)?.generation ?? 0,
    resets,
    own: null,
    children: new SpreadMap(),
    loadSpend: null,
    bounds: unknownBounds,
    previousStartMs: 0,
    declaredAt: null,
    raises: null,
    held: null,
  };
  if (!definition.perChild && !isPerSession(definition)) budget.own = newAccount(budget, "");
  return budget;
}

/** The amount that applies to an account at a moment, in US dollars. */
export function amountUsdAt({ budget, child }: Account, nowMs: number): number {
  const { definition, raises } = budget;
  return raises === null
    ? definition.amountUsd
    : raisedAmount(definition.amountUsd, raises, raisedChild(budget, child), nowMs);
}

/**
 * The child whose raises apply to an account: for a session, the template's child to which it
 * belongs.
 */
function raisedChild({ definition }: Budget, child: string): string {
  return isPerSession(definition) ? child.slice(0, child.search(/[/\t]/)) : child;
}

/** As `amountUsdAt`, in the form that spend is compared with. */
export function amountAt(account: Account, nowMs: number): MoneySum {
  const { amount, raises } = account.budget;
  return raises === null ? amount : amountSum(amountUsdAt(account, nowMs));
}

/** Returns the account after applying the resets of its budget. */
export function freshAccount(account: Account): Account {
  const { budget, spends, generation } = account;
  if (generation === budget.generation) return account;
  for (const reset of budget.resets)
    if (reset.generation > generation) clearCountedPeriods(budget, spends, reset.startMs);
  account.generation = budget.generation;
  return account;
}

/** Clears the spend that counts in the period that began at `startMs`. */
function clearCountedPeriods({ definition }: Budget, spends: Spends, startMs: number): void {
  const starts = isRolling(definition)
    ? spends.flatMap((slice) => (slice.startMs <= startMs ? slice.startMs : []))
    : [startMs];
  for (const start of starts) clearPeriod(spends, start);
}

/** Separates path and session in the name of a session's account; neither contains it. */
const sessionSeparator = "\t";

/**
 * The name of a session's account: with the caller's path, because sessions of two callers may have
 * the same name. `below`: the caller's path below the budget's.
 */
export function sessionChild(below: string, session: string): string {
  return below + sessionSeparator + session;
}

/** The session of an account; null if the budget isn't per session. */
export function sessionOf({ budget, child }: Pick<Account, "budget" | "child">): string | null {
  return isPerSession(budget.definition)
    ? child.slice(child.indexOf(sessionSeparator) + sessionSeparator.length)
    : null;
}

/** An empty account that its budget doesn't keep yet. */
export function newAccount(budget: Budget, child: string): Account {
  const { definition } = budget;
  const below = isPerSession(definition) ? child.slice(0, child.indexOf(sessionSeparator)) : child;
  return {
    budget,
    subject: childPath(definition.subject, below),
    child,
    spends: [],
    isDirty: false,
    restoredKey: 0,
    generation: budget.generation,
    recent: null,
  };
}

/** The account of a template's child, created if needed. */
export function childOf(budget: Budget, child: string): Account {
  const existing = budget.children.get(child) ?? readChild(budget, child);
  if (existing !== undefined) return freshAccount(existing);
  const account = newAccount(budget, child);
  budget.children.set(child, account);
  return account;
}

/** As `childOf`, but a new account isn't kept. */
export function knownChildOf(budget: Budget, child: string): Account {
  const existing = budget.children.get(child) ?? readChild(budget, child);
  return existing === undefined ? newAccount(budget, child) : freshAccount(existing);
}

/** Loads the account of a child from the store. */
function readChild(budget: Budget, child: string): Account | undefined {
  const stored = budget.loadSpend?.(child) ?? null;
  return stored === null ? undefined : loadChild(budget, child, stored);
}

/** Adds the loaded account of a child to its budget. */
export function loadChild(budget: Budget, child: string, stored: StoredSpend): Account {
  const account = newAccount(budget, child);
  budget.children.set(child, account);
  fillFromStore(account, stored);
  return account;
}

/** Replaces the spend of an account by its stored spend. */
export function fillFromStore(account: Account, { recordKey, spends }: StoredSpend): void {
  account.restoredKey = recordKey;
  account.spends.length = 0;
  append(account.spends, spends);
  // An account that was stored with exactly a reset's key has no spend after the reset: later
  // records have greater keys.
  for (const reset of account.budget.resets)
    if (recordKey <= reset.recordKey)
      clearCountedPeriods(account.budget, account.spends, reset.startMs);
}

/**
 * When the counted spend of a budget's accounts begins: with the period, with the first slice of a
 * rolling budget that counts, or at a later reset.
 */
export function startOf(budget: Budget, bounds: PeriodBounds, nowMs: number): number {
  const { resetAtMs, definition } = budget;
  const fromMs = countedFrom(definition, bounds);
  return resetAtMs !== null && resetAtMs > fromMs && resetAtMs <= nowMs ? resetAtMs : fromMs;
}

/** Notes that accounts no longer keep the period that begins at `startMs`, nor earlier ones. */
export function dropPeriod(budget: Budget, startMs: number): void {
  budget.sinceMs = Math.max(budget.sinceMs, startMs + 1);
}
