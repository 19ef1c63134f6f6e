/**
 * Shares the spend of budgets: reports this host's spend to the engine and reads the other hosts'
 * spend, twice a second, soon after an account is first needed, and for lists. Verdicts use the
 * last known figures and never wait.
 */

import type { PicoUsd } from "../../../shared/domain/money.js";
import { accountsPerTick } from "../../bounds.js";
import {
  type Account,
  type Budget,
  freshAccount,
  type KnownSpend,
  knownChildOf,
  type OtherHosts,
} from "../../budgets/budget-account.js";
import type { BudgetBook } from "../../budgets/budget-book.js";
import { leftBesideClaims } from "../../budgets/judge-budgets.js";
import type { PeriodSpend } from "../../budgets/spend.js";
import { spendKey } from "../../budgets/stored-budget.js";
import type { ShareSync } from "../../shares/sync/share-sync.js";
import { EngineAwayError } from "../engine/engine.js";
import { type AccountClaim, AccountClaims } from "./account-claims.js";
import { graceMs, KnownAccounts, type OtherSpend } from "./known-accounts.js";
import type { SpendAnswer, SpendBoard, SpendQuestion } from "./spend-board.js";
import {
  addRows,
  atLeast,
  claimField,
  claimsInFields,
  claimText,
  periodsInRow,
  rowText,
} from "./spend-row.js";

/**
 * Interval of ticks, in ms: a host reports its spend within this time and the others read it within
 * the same time again, so figures are at most a second old.
 */
export const spendTickMs = 500;
/** Accounts in one question to the engine: reading its answer takes less than a millisecond. */
const perQuestion = 200;
/** Time between the first verdict on an account and the question about it, in ms. */
const soonMs = 20;
/** How long a list waits for fresh figures before it shows the last known ones. */
const listWaitMs = 500;
/** Accounts that one list asks about. */
const listedMax = 1000;
/** Accounts that one tick checks while everything is reported again. */
const walkedPerTick = 5000;

/** A question, with what is needed to apply its answer. */
interface OpenQuestion extends SpendQuestion {
  /** The budget's last reset at the time of the question. */
  readonly resetAtMs: number | null;
  readonly generation: number;
  /** The account that the question reports; repeated if the question fails. */
  readonly reported: Account | null;
  readonly otherSpend: OtherSpend | null;
  /** The claim that the question reports. */
  readonly claim: AccountClaim | null;
}

interface SpendPorts {
  readonly board: SpendBoard;
  readonly book: BudgetBook;
  /** This host: its own rows are left out. */
  readonly host: string;
  nowMs(): number;
  monoMs(): number;
  /** Runs `run` once after `ms`. */
  after(ms: number, run: () => void): void;
  /** Whether accounts are still being read from the store. */
  isLoading(): boolean;
  /** Where requests wait for a claim to be confirmed; null: hosts claim nothing. */
  readonly shares: Pick<ShareSync, "turn" | "claimAsked" | "claimsAnswered"> | null;
  /** Whether proxies haven't reported yet what their requests hold, after a restart. */
  isRestoring(): boolean;
  /**
   * Called when the engine refuses to write or read an account; `reason` is a sentence for the log.
   */
  onRefused(reason: string): void;
}

export class SpendExchange implements OtherHosts {
  readonly #ports: SpendPorts;
  readonly #accounts: KnownAccounts;
  readonly #unsent = new Map<string, Account>();
  /** The accounts that are still to be reported, while everything is reported again. */
  #walk: Iterator<Account> | null = null;
  #running: Promise<boolean> | null = null;
  readonly claims: AccountClaims | null;
  /** The claims to ask about soon. */
  readonly #claiming = new Set<AccountClaim>();
  /** Whether the engine didn't answer the last time. */
  #isAway = false;
  #isStopping = false;

  constructor(ports: SpendPorts) {
    this.#ports = ports;
    this.#accounts = new KnownAccounts({
      book: ports.book,
      nowMs: () => ports.nowMs(),
      onNew: () => ports.after(soonMs, () => void this.#askNew()),
    });
    const { shares, book } = ports;
    this.claims =
      shares === null
        ? null
        : new AccountClaims({
            turn: shares.turn,
            monoMs: () => ports.monoMs(),
            isAway: () => this.#isAway,
            ask: (claim) => this.#claimSoon(claim),
            startMs: (budget) => this.#startOf(budget),
            leftOf: (account) => leftBesideClaims(book, account, ports.nowMs()),
          });
    this.reportAll();
  }

  /** Reports everything for the last time, within about two seconds. Claims nothing from now on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if ((await this.tick()) && !this.#isSent) await this.tick();
  }

  /** Call each half second. Resolves with false if the engine didn't answer. */
  tick(): Promise<boolean> {
    this.#running ??= this.#ask(this.#takeQuestions(accountsPerTick)).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolves when the other hosts' spend on these accounts is fresh, or after `listWaitMs`. */
  async refresh(accounts: Iterable<Account>): Promise<void> {
    const questions: OpenQuestion[] = [];
    for (const account of accounts) {
      if (questions.length >= listedMax) break;
      questions.push(this.#question(this.#accounts.need(account), null));
    }
    if (questions.length === 0) return;
    await Promise.race([
      this.#ask(questions),
      new Promise<void>((resolve) => this.#ports.after(listWaitMs, resolve)),
    ]);
  }

  spentIn(account: Account, startMs: number): PeriodSpend | null {
    return periodAt(this.periodsOf(account), startMs);
  }

  periodsOf(account: Account): readonly PeriodSpend[] {
    return countedPeriods(account, this.#accounts.need(account));
  }

  readonly peek: KnownSpend = {
    claims: null,
    spentIn: (account, startMs) => periodAt(this.peek.periodsOf(account), startMs),
    periodsOf: (account) =>
      countedPeriods(account, this.#accounts.find(spendKey(account.budget.id, account.child))),
  };

  seenAgeMs(account: Account): number | null {
    const { readAtMs } = this.#accounts.need(account);
    return readAtMs === null ? null : this.#ports.monoMs() - readAtMs;
  }

  noteCharge(account: Account, cost: PicoUsd): void {
    const name = spendKey(account.budget.id, account.child);
    this.claims?.find(name)?.noteCharge(cost);
    this.#unsent.set(name, account);
  }

  #report(account: Account): void {
    this.#unsent.set(spendKey(account.budget.id, account.child), account);
  }

  lookedUp(budget: Budget): void {
    this.claims?.clear(budget);
    if (budget.own !== null) this.#report(budget.own);
    else this.reportAll();
  }

  /** Reports everything again: the engine may have lost it, or this daemon has just started. */
  reportAll(): void {
    this.#walk = allAccounts(this.#ports.book);
  }

  /** Whether the engine has everything that was spent here. */
  get #isSent(): boolean {
    return this.#unsent.size === 0 && this.#walk === null;
  }

  /** The questions of this tick, at most `max`; reports come first. */
  #takeQuestions(max: number): OpenQuestion[] {
    this.#accounts.tick();
    this.#continueWalk();
    for (const claim of this.claims?.takeUnsent() ?? []) this.#report(accountOf(claim));
    const questions: OpenQuestion[] = [];
    const names = new Set<string>();
    for (const [name, account] of this.#unsent) {
      if (questions.length >= max) return questions;
      if (!this.#mayReport(account)) continue;
      this.#unsent.delete(name);
      names.add(name);
      questions.push(this.#question(this.#accounts.find(name), account));
    }
    for (const otherSpend of this.#accounts.takeFollowed(max - questions.length, names))
      questions.push(this.#question(otherSpend, null));
    return questions;
  }

  /**
   * At most one report of an account with a claim is pending; and a report without what running
   * requests hold would leave it to other hosts.
   */
  #mayReport({ budget, child }: Account): boolean {
    if (budget.definition.hold === undefined || this.claims === null) return true;
    if (this.#ports.isRestoring()) return false;
    return this.claims.find(spendKey(budget.id, child))?.isAsked !== true;
  }

  #claimSoon(claim: AccountClaim): void {
    if (this.#claiming.size === 0) this.#ports.after(0, () => void this.#askClaims());
    this.#claiming.add(claim);
  }

  /**
   * Sends the claims that are due. Drops a claim that may not be sent now. If a question about its
   * account is pending, the requests that wait ask again when the question ends (`claimsAnswered`).
   * While proxies report after a restart, requests that wait for a claim wait until their last
   * judgement.
   */
  #askClaims(): Promise<boolean> {
    const questions: OpenQuestion[] = [];
    for (const claim of this.#claiming) {
      const account = accountOf(claim);
      if (!this.#mayReport(account)) continue;
      this.#unsent.delete(claim.name);
      questions.push(this.#question(this.#accounts.need(account), account));
    }
    this.#claiming.clear();
    return this.#ask(questions);
  }

  /** `sentAtMs`: on the monotonic clock, before the questions were sent. */
  #applyAnswers(
    questions: readonly OpenQuestion[],
    answers: readonly SpendAnswer[],
    sentAtMs: number,
  ): void {
    for (const [i, question] of questions.entries()) {
      const { otherSpend, resetAtMs, generation, account } = question;
      const answer = answers[i]!;
      if (!answer.ok) {
        this.#noteFailed([question]);
        this.#ports.onRefused(answer.reason);
        continue;
      }
      question.claim?.endQuestion(true);
      const claim = this.claims?.find(account);
      if (claim !== undefined) {
        const claims = claimsInFields(answer.fields);
        claims.delete(this.#ports.host);
        claim.noteOthers(claims);
      }
      if (otherSpend === null || (otherSpend.readAtMs !== null && otherSpend.readAtMs > sentAtMs))
        continue;
      const others = [...answer.fields].flatMap(([host, text]) =>
        host === this.#ports.host ? [] : [periodsInRow(text, resetAtMs) ?? []],
      );
      const sums = addRows(others);
      otherSpend.periods =
        otherSpend.generation === generation ? atLeast(otherSpend.periods, sums) : sums;
      otherSpend.generation = generation;
      otherSpend.readAtMs = sentAtMs;
    }
    this.#ports.shares?.claimsAnswered(questions.flatMap(({ claim }) => claim ?? []));
  }

  /** The engine didn't answer and may have lost the report: repeat it. */
  #noteFailed(questions: readonly OpenQuestion[]): void {
    for (const { reported, claim } of questions) {
      if (reported !== null) this.#report(reported);
      claim?.endQuestion(false);
    }
  }

  /**
   * The caller must send the question. With a report it states the account's claim: from now on
   * this host uses no more than that, and requests that wait for the claim wait for the answer.
   */
  #question(otherSpend: OtherSpend | null, reported: Account | null): OpenQuestion {
    const { book, nowMs } = this.#ports;
    const budget = reported?.budget ?? otherSpend!.budget;
    const { resetAtMs, generation } = budget;
    const now = nowMs();
    const account = reported === null ? otherSpend!.account : spendKey(budget.id, reported.child);
    const isClaimed = reported !== null && budget.definition.hold !== undefined;
    const claim = (isClaimed ? this.claims?.find(account) : null) ?? null;
    if (claim !== null) this.#ports.shares?.claimAsked(claim);
    return {
      account,
      fields: reported === null ? null : this.#fields(reported, claim, isClaimed),
      keepMs: Math.max(0, book.countsUntil(budget, now) - now) + graceMs,
      resetAtMs,
      generation,
      reported,
      otherSpend,
      claim,
    };
  }

  #fields(
    account: Account,
    claim: AccountClaim | null,
    isClaimed: boolean,
  ): Readonly<Record<string, string>> {
    const { host } = this.#ports;
    const { budget, child } = account;
    const row = rowText(budget.resetAtMs, freshAccount(account).spends);
    if (!isClaimed) return { [host]: row };
    const claimed = claim?.report(account, this.#isStopping) ?? {
      startMs: this.#startOf(budget),
      amount: budget.held?.of(child) ?? 0,
    };
    return { [host]: row, [claimField(host)]: claimText(claimed) };
  }

  #startOf(budget: Budget): number {
    const { book, nowMs } = this.#ports;
    return book.boundsOf(budget, nowMs()).startMs;
  }

  #continueWalk(): void {
    if (this.#walk === null || this.#ports.isLoading()) return;
    for (let i = 0; i < walkedPerTick && this.#unsent.size < walkedPerTick; i++) {
      const next = this.#walk.next();
      if (next.done === true) {
        this.#walk = null;
        return;
      }
      if (next.value.spends.some(({ requests }) => requests > 0)) this.#report(next.value);
    }
  }

  /** Asks about accounts that have no recent figures. */
  #askNew(): Promise<boolean> {
    const accounts = this.#accounts.takeNew(accountsPerTick);
    return this.#ask(accounts.map((account) => this.#question(account, null)));
  }

  async #ask(questions: readonly OpenQuestion[]): Promise<boolean> {
    const { board, monoMs } = this.#ports;
    for (let i = 0; i < questions.length; i += perQuestion) {
      const batch = questions.slice(i, i + perQuestion);
      const sentAtMs = monoMs();
      try {
        const answers = await board.exchange(batch);
        this.#isAway = false;
        this.#applyAnswers(batch, answers, sentAtMs);
      } catch (error) {
        const unanswered = questions.slice(i);
        this.#noteFailed(unanswered);
        if (!(error instanceof EngineAwayError)) throw error;
        this.#isAway = true;
        this.#ports.shares?.claimsAnswered(unanswered.flatMap(({ claim }) => claim ?? []));
        return false;
      }
    }
    return true;
  }
}

function accountOf({ budget, child }: AccountClaim): Account {
  return budget.own ?? knownChildOf(budget, child);
}

function periodAt(periods: readonly PeriodSpend[], startMs: number): PeriodSpend | null {
  return periods.find((period) => period.startMs === startMs) ?? null;
}

/** Without the figures from before the budget's last reset. */
function countedPeriods(
  { budget }: Account,
  otherSpend: OtherSpend | null,
): readonly PeriodSpend[] {
  return otherSpend !== null && otherSpend.generation === budget.generation
    ? otherSpend.periods
    : [];
}

function* allAccounts({ budgets }: BudgetBook): Generator<Account> {
  for (const { own, children } of budgets.values())
    if (own !== null) yield own;
    else yield* children.values();
}
