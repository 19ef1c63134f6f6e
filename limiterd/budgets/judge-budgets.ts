/**
 * Judges a request by its budgets (docs/budgets.md): each must have money left in its running
 * period. A template must also have room for the account of a new child. The cost of the request
 * isn't known yet.
 */

import { secondsToSweepAll } from "../../shared/bounds.js";
import { compareBudgets } from "../../shared/domain/budget.js";
import {
  addSum,
  compareSums,
  differenceOf,
  emptySum,
  type MoneySum,
  sumUsd,
} from "../../shared/domain/money.js";
import { isLenient, useField } from "../../shared/domain/on-exhausted.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import { claimKeptMs } from "../bounds.js";
import type { ClaimNeeds } from "../counters/window.js";
import {
  claimNeeds,
  type Demand,
  type HardLimit,
  heldOrNew,
  needOf,
  neverFitsSeconds,
  weightsOfCost,
} from "../rules/hard-limits.js";
import {
  type Account,
  amountAt,
  amountUsdAt,
  type BudgetClaims,
  type CountedPart,
  type KnownSpend,
} from "./budget-account.js";
import type { BudgetBook, BudgetCaller } from "./budget-book.js";
import { countedFrom, countsUntil, isRolling } from "./budget-period.js";
import { findPeriod, type PeriodSpend } from "./spend.js";

/** Finds the accounts of a request: those of the book, or copies of them. */
export interface BudgetMatching
  extends Pick<BudgetBook, "match" | "matchTarget" | "runningPeriod" | "boundsOf" | "hasNoRoom"> {
  readonly others: KnownSpend | null;
}

/** Finds copies of accounts, for a verdict that changes nothing. */
export function matchCopies(book: BudgetBook): BudgetMatching {
  return {
    match: (caller, labels, nowMs) => book.copy(caller, labels, nowMs),
    matchTarget: (target, caller, nowMs) => book.copyForModels(target, caller, nowMs),
    runningPeriod: (account, nowMs) => book.runningPeriod(account, nowMs),
    boundsOf: (budget, nowMs) => book.boundsOf(budget, nowMs),
    hasNoRoom: (account) => book.hasNoRoom(account),
    others: book.others,
  };
}

/** What identifies an account to those that wait for it. */
export type AwaitedAccount = Pick<BudgetBreach, "scope" | "subject" | "periodSeconds" | "models">;

/** Requests that wait for a budget. */
export interface BudgetWaiters {
  /** Whether some must be admitted before the one that is judged. */
  isBehindAt(account: AwaitedAccount): boolean;
}

interface CallerQuestion extends BudgetCaller {
  readonly labels: readonly string[];
  /** See `isLenient`. */
  readonly uses?: readonly string[] | undefined;
  /** What the request may use of hard caps; absent if it doesn't say. */
  readonly demand?: Demand | undefined;
  /**
   * Whether only hard caps are judged, because the other budgets have already admitted the request.
   */
  readonly isHardOnly?: boolean;
  /** Null or absent: none wait, or the request needn't wait behind them. */
  readonly waiters?: BudgetWaiters | null | undefined;
}

interface TargetQuestion extends Omit<CallerQuestion, "labels"> {
  readonly target: Target;
}

/**
 * The exceeded budgets of a request to this target that don't refuse it, because they are lenient.
 */
export function exhaustedBudgets(
  book: BudgetMatching,
  request: CallerQuestion & { readonly target: Target | null },
  nowMs: number,
): BudgetBreach[] {
  const { labels, target, uses } = request;
  const accounts = [
    ...book.match(request, labels, nowMs),
    ...(target === null ? [] : book.matchTarget(target, request, nowMs)),
  ];
  return accounts
    .filter(
      (account) =>
        isLenient(account.budget.definition, uses) &&
        !book.hasNoRoom(account) &&
        isExceeded(book, account, nowMs),
    )
    .map((account) => breachOfAccount(book, account, nowMs));
}

/**
 * The breach of the budgets of a caller for all models; null if none refuses the request. See
 * `judgeAccounts`.
 */
export function judgeBudgets(
  book: BudgetMatching,
  caller: CallerQuestion,
  nowMs: number,
): BudgetBreach | Breach | null {
  const { labels, uses, demand, waiters, isHardOnly = false } = caller;
  const accounts = book.match(caller, labels, nowMs);
  const judgedAccounts = isHardOnly
    ? accounts.filter(({ budget }) => budget.definition.hold !== undefined)
    : accounts;
  return judgeAccounts(book, judgedAccounts, nowMs, { uses, demand, waiters });
}

/** As `judgeBudgets`, of the budgets for some models that cover a target. */
export function judgeTargetBudgets(
  book: BudgetMatching,
  caller: TargetQuestion,
  nowMs: number,
): BudgetBreach | Breach | null {
  const { target, uses, demand, waiters } = caller;
  const accounts = book.matchTarget(target, caller, nowMs);
  return judgeAccounts(book, accounts, nowMs, { uses, demand, waiters });
}

/**
 * The exceeded budget with the longest wait, the first on a tie; or a template whose children have
 * reached their bound, if its wait is longer.
 */
function judgeAccounts(
  book: BudgetMatching,
  accounts: readonly Account[],
  nowMs: number,
  { uses, demand, waiters = null }: Pick<CallerQuestion, "uses" | "demand" | "waiters">,
): BudgetBreach | Breach | null {
  let worst: Account | null = null;
  let worstEndMs = 0;
  let fullTemplate: Account | null = null;
  for (const account of accounts) {
    if (book.hasNoRoom(account)) {
      fullTemplate ??= account;
      continue;
    }
    if (isLenient(account.budget.definition, uses)) continue;
    const isBehind = waiters?.isBehindAt(awaitedAccount(account)) === true;
    const endMs =
      refusesUntil(book, account, nowMs, demand) ?? (isBehind ? nowMs + reservedMs : null);
    if (endMs === null) continue;
    if (
      worst !== null &&
      (endMs < worstEndMs ||
        (endMs === worstEndMs &&
          compareBudgets(account.budget.definition, worst.budget.definition) >= 0))
    )
      continue;
    worst = account;
    worstEndMs = endMs;
  }
  const breach = worst === null ? null : breachUntil(book, worst, { nowMs, untilMs: worstEndMs });
  if (fullTemplate === null || (breach !== null && breach.waitSeconds >= accountWaitSeconds))
    return breach;
  return breachOfChildren(fullTemplate);
}

/** The wait for what running requests hold, in ms. */
const reservedMs = 1000;

function awaitedAccount({ budget, subject }: Account): AwaitedAccount {
  const { scope, periodSeconds, models } = budget.definition;
  return { scope, subject, periodSeconds, ...(models === undefined ? {} : { models }) };
}

/** Until when an account refuses a request; null if it admits the request. */
function refusesUntil(
  book: BudgetMatching,
  account: Account,
  nowMs: number,
  demand: Demand | undefined,
): number | null {
  const { definition, held: heldAmounts } = account.budget;
  if (isExceeded(book, account, nowMs)) return roomAt(book, account, nowMs);
  if (definition.hold === undefined) return null;
  const held = heldAmounts?.of(account.child) ?? 0;
  const weights = weightsOfCost(demand?.rates ?? null);
  const cap = picoOf(amountWithCarryOver(book, account, nowMs));
  const need = needOf({ weights, cap }, demand, held);
  const needAlone = needOf({ weights, cap }, demand, 0);
  const left = leftOf(book, account, nowMs);
  const hard = hardAccount(book, account, nowMs);
  if (left - claimedByOthers(hard) - held >= need)
    return demand !== undefined && awaitsClaim(book, hard, demand, nowMs)
      ? nowMs + reservedMs
      : null;
  if (left >= needAlone) return nowMs + reservedMs;
  const neverFitsMs = needAlone > cap ? nowMs + neverFitsSeconds * 1000 : 0;
  return Math.max(roomAt(book, account, nowMs), neverFitsMs);
}

/** An account of a hard budget, and the claims of hosts to the part of it that counts now. */
interface HardAccount {
  readonly account: Account;
  /** Null if no other host counts. */
  readonly shared: { readonly claims: BudgetClaims; readonly part: CountedPart } | null;
}

function hardAccount(book: BudgetMatching, account: Account, nowMs: number): HardAccount {
  const claims = book.others?.claims ?? null;
  const shared = claims === null ? null : { claims, part: countedPart(book, account, nowMs) };
  return { account, shared };
}

/**
 * Whether this host must claim more, and so ask the other hosts, before the request may use what it
 * needs. If so, notes that in this host's turn, as for counters.
 */
function awaitsClaim(
  book: BudgetMatching,
  hard: HardAccount,
  demand: Demand,
  nowMs: number,
): boolean {
  const { account, shared } = hard;
  if (shared === null) return false;
  const limit = hardLimit(book, hard, demand, nowMs);
  if (limit === null) return false;
  const { claims, part } = shared;
  claims.renew(account, part);
  const needs = claimNeeds(limit, demand);
  const mustClaim = claims.lacks(account, part, needs);
  if (mustClaim) claims.want(account, needs.want);
  return mustClaim;
}

/** As `BudgetClaims.lacks`; false if no other host counts. */
export function lacksClaim(
  book: BudgetMatching,
  account: Account,
  needs: ClaimNeeds,
  nowMs: number,
): boolean {
  const { shared } = hardAccount(book, account, nowMs);
  return shared?.claims.lacks(account, shared.part, needs) ?? false;
}

/** As `BudgetClaims.want`. */
export function wantClaim({ others }: BudgetMatching, account: Account, amount: number): void {
  others?.claims?.want(account, amount);
}

/** As `BudgetClaims.renew`. */
export function renewClaim(book: BudgetMatching, account: Account, nowMs: number): void {
  const { shared } = hardAccount(book, account, nowMs);
  shared?.claims.renew(account, shared.part);
}

function claimedByOthers({ account, shared }: HardAccount): number {
  return shared === null ? 0 : shared.claims.claimedByOthers(account, shared.part);
}

function countedPart(book: BudgetMatching, account: Account, nowMs: number): CountedPart {
  const { budget } = account;
  const claimedIn = book.boundsOf(budget, nowMs - claimKeptMs);
  const bounds = book.boundsOf(budget, nowMs);
  const spentHere = (): number =>
    picoOf(
      isRolling(budget.definition)
        ? sumOf(ownSlices(book, account, nowMs))
        : book.runningPeriod(account, nowMs).spent,
    );
  return {
    fromMs: countedFrom(budget.definition, bounds),
    endMs: bounds.endMs,
    claimsFromMs: countedFrom(budget.definition, claimedIn),
    amount: picoOf(amountWithCarryOver(book, account, nowMs)),
    spentHere,
  };
}

function picoOf({ microUsd, picoUsd }: MoneySum): number {
  return microUsd * 1_000_000 + picoUsd;
}

/** What the running period has left, in pico-dollars; exact below $9,007 (2^53 pico-dollars). */
function leftOf(book: BudgetMatching, account: Account, nowMs: number): number {
  const left = differenceOf(
    amountWithCarryOver(book, account, nowMs),
    spentOf(book, account, nowMs),
  );
  return picoOf(left);
}

/**
 * What the running period has left after the spend of all hosts and the claims of the other hosts.
 */
export function leftBesideClaims(book: BudgetMatching, account: Account, nowMs: number): number {
  return leftOf(book, account, nowMs) - claimedByOthers(hardAccount(book, account, nowMs));
}

/** The hard caps among the budgets of these accounts. */
export function hardBudgets(
  book: BudgetMatching,
  accounts: readonly Account[],
  { demand, uses }: { readonly demand: Demand; readonly uses: CallerQuestion["uses"] },
  nowMs: number,
): HardLimit[] {
  return accounts.flatMap((account) => {
    const { definition } = account.budget;
    if (definition.hold === undefined || isLenient(definition, uses)) return [];
    return hardLimit(book, hardAccount(book, account, nowMs), demand, nowMs) ?? [];
  });
}

/** Null if the request's model has no price. */
function hardLimit(
  book: BudgetMatching,
  hard: HardAccount,
  { rates }: Demand,
  nowMs: number,
): HardLimit | null {
  const { account, shared } = hard;
  const { budget, child } = account;
  const weights = weightsOfCost(rates);
  if (weights.prompt === 0 && weights.output === 0) return null;
  const cap = picoOf(amountWithCarryOver(book, account, nowMs));
  const left = leftOf(book, account, nowMs) - claimedByOthers(hard);
  const claimed = shared === null ? left : shared.claims.leftOf(account, shared.part);
  return { held: heldOrNew(budget), child, weights, cap, left, claimed, source: account };
}

/**
 * The estimated wait for room for a new account: the sweep examines each idle account within a
 * minute.
 */
export const accountWaitSeconds = secondsToSweepAll;

/** The breach of a template that has no room for another child's account. */
function breachOfChildren({ budget, subject }: Account): Breach {
  return {
    scope: "user_path",
    subject,
    periodSeconds: budget.definition.periodSeconds,
    dimension: "children",
    cap: budget.children.size,
    waitSeconds: accountWaitSeconds,
    ...(budget.definition.models === undefined ? {} : { models: budget.definition.models }),
  };
}

/** The spend of the running period on this host, and as far as it is known, on the other hosts. */
export function spentOf(book: BudgetMatching, account: Account, nowMs: number): MoneySum {
  if (isRolling(account.budget.definition))
    return sumOf([...ownSlices(book, account, nowMs), ...otherSlices(book, account, nowMs)]);
  const { startMs, spent } = book.runningPeriod(account, nowMs);
  const others = book.others?.spentIn(account, startMs) ?? null;
  if (others === null) return spent;
  const sum = { ...spent };
  addSum(sum, others.spent);
  return sum;
}

/** The other hosts' spend of the running period; null if nothing is known. */
export function otherSpend(
  book: BudgetMatching,
  account: Account,
  nowMs: number,
): Pick<PeriodSpend, "spent" | "requests"> | null {
  if (!isRolling(account.budget.definition))
    return book.others?.spentIn(account, book.runningPeriod(account, nowMs).startMs) ?? null;
  const slices = otherSlices(book, account, nowMs);
  return { spent: sumOf(slices), requests: requestsOf(slices) };
}

/** The number of this host's records in the running period. */
export function ownRequests(book: BudgetMatching, account: Account, nowMs: number): number {
  return isRolling(account.budget.definition)
    ? requestsOf(ownSlices(book, account, nowMs))
    : book.runningPeriod(account, nowMs).requests;
}

function requestsOf(slices: readonly PeriodSpend[]): number {
  return slices.reduce((total, { requests }) => total + requests, 0);
}

function sumOf(slices: readonly PeriodSpend[]): MoneySum {
  const sum = emptySum();
  for (const { spent } of slices) addSum(sum, spent);
  return sum;
}

/** This host's slices of a rolling budget that count now. */
function ownSlices(book: BudgetMatching, account: Account, nowMs: number): readonly PeriodSpend[] {
  // Adds the running slice, if it is new.
  book.runningPeriod(account, nowMs);
  return countedSlices(book, account, nowMs, account.spends);
}

function otherSlices(
  book: BudgetMatching,
  account: Account,
  nowMs: number,
): readonly PeriodSpend[] {
  return countedSlices(book, account, nowMs, book.others?.periodsOf(account) ?? []);
}

function countedSlices(
  book: BudgetMatching,
  { budget }: Account,
  nowMs: number,
  slices: readonly PeriodSpend[],
): readonly PeriodSpend[] {
  const bounds = book.boundsOf(budget, nowMs);
  const fromMs = countedFrom(budget.definition, bounds);
  return slices.filter(({ startMs }) => startMs >= fromMs && startMs < bounds.endMs);
}

/**
 * When the account has room again if nothing more is spent: at the end of the period; for a rolling
 * budget, when enough slices have stopped counting.
 */
export function roomAt(book: BudgetMatching, account: Account, nowMs: number): number {
  const { definition } = account.budget;
  const amount = amountAt(account, nowMs);
  const { startMs, endMs } = book.boundsOf(account.budget, nowMs);
  if (!isRolling(definition)) return endMs;
  const newestFirst = [
    ...ownSlices(book, account, nowMs),
    ...otherSlices(book, account, nowMs),
  ].sort((a, b) => b.startMs - a.startMs);
  const sum = emptySum();
  for (const slice of newestFirst) {
    addSum(sum, slice.spent);
    if (compareSums(sum, amount) >= 0) return countsUntil(definition, slice.startMs);
  }
  const oldest = newestFirst.findLast(({ requests }) => requests > 0);
  return countsUntil(definition, oldest?.startMs ?? startMs);
}

/**
 * What is carried over from the last period to the running one: a part of what the last one had
 * left.
 */
export function carriedOver(book: BudgetMatching, account: Account, nowMs: number): MoneySum {
  const { budget, spends } = account;
  const { rollover = 0 } = budget.definition;
  // Updates `previousStartMs`.
  book.boundsOf(budget, nowMs);
  const { previousStartMs: startMs, sinceMs, amount } = budget;
  // The budget didn't exist then, or the spend of that period isn't known.
  if (rollover === 0 || startMs <= sinceMs) return emptySum();
  const spent = { ...(findPeriod(spends, startMs)?.spent ?? emptySum()) };
  const others = book.others?.spentIn(account, startMs) ?? null;
  if (others !== null) addSum(spent, others.spent);
  const left = differenceOf(amount, spent);
  return {
    microUsd: Math.floor(left.microUsd * rollover),
    picoUsd: Math.floor(((left.microUsd * rollover) % 1) * 1_000_000),
  };
}

/** The amount of the running period, with raises and what was carried over. */
function amountWithCarryOver(book: BudgetMatching, account: Account, nowMs: number): MoneySum {
  const amount = amountAt(account, nowMs);
  if (account.budget.definition.rollover === undefined) return amount;
  const sum = { ...amount };
  addSum(sum, carriedOver(book, account, nowMs));
  return sum;
}

/** As `amountWithCarryOver`, in US dollars. */
export function amountUsdOf(book: BudgetMatching, account: Account, nowMs: number): number {
  const { rollover } = account.budget.definition;
  const amountUsd = amountUsdAt(account, nowMs);
  return rollover === undefined ? amountUsd : amountUsd + sumUsd(carriedOver(book, account, nowMs));
}

/** Whether the spend has reached the amount. */
export function isExceeded(book: BudgetMatching, account: Account, nowMs: number): boolean {
  return compareSums(spentOf(book, account, nowMs), amountWithCarryOver(book, account, nowMs)) >= 0;
}

/** The breach that refuses a request with only this account. */
export function breachOfAccount(
  book: BudgetMatching,
  account: Account,
  nowMs: number,
): BudgetBreach {
  return breachUntil(book, account, { nowMs, untilMs: roomAt(book, account, nowMs) });
}

function breachUntil(
  book: BudgetMatching,
  account: Account,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): BudgetBreach {
  const { rolling } = account.budget.definition;
  return {
    dimension: "budget",
    ...awaitedAccount(account),
    spentUsd: sumUsd(spentOf(book, account, nowMs)),
    amountUsd: amountUsdOf(book, account, nowMs),
    waitSeconds: Math.max(1, Math.ceil((untilMs - nowMs) / 1000)),
    ...(rolling === undefined ? {} : { rolling }),
    ...useField(account.budget.definition),
  };
}
