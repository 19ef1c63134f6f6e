/**
 * What the other hosts have spent on budgets, as far as this one knows, and what it has yet to tell
 * them. Verdicts read it at once and wait for nothing. Which questions are asked when is decided
 * here; `exchange-spend.ts` asks them.
 */
import {
  type Account,
  type Budget,
  freshAccount,
  type OtherHosts,
  type OthersSpend,
} from "../../budgets/budget-account.js";
import type { BudgetBook } from "../../budgets/budget-book.js";
import type { PeriodSpend } from "../../budgets/spend.js";
import { spendKey } from "../../budgets/stored-budget.js";
import { graceMs, type Known, KnownAccounts } from "./known-accounts.js";
import type { SpendAnswer, SpendQuestion } from "./spend-board.js";
import { addRows, atLeast, periodsInRow, rowText } from "./spend-row.js";

/** Accounts that are looked at in one tick while all are told anew. */
const walkedPerTick = 5000;

/** A question with what its answer is for. */
export interface Asked extends SpendQuestion {
  /** Of the budget, when it was asked. */
  readonly resetAtMs: number | null;
  readonly generation: number;
  /** To be told again if the question fails. */
  readonly told: Account | null;
  readonly known: Known | null;
}

export interface OtherSpendPorts {
  readonly book: BudgetBook;
  /** Whose rows aren't the others'. */
  readonly host: string;
  nowMs(): number;
  monoMs(): number;
  /** Whether accounts are still being read from the store. */
  isLoading(): boolean;
  /** The engine refuses to write or read an account: a sentence for the log. */
  onRefused(reason: string): void;
  /** `takeNew` has something; called once until it is asked. */
  onNew(): void;
}

export class OtherSpend implements Omit<OtherHosts, "refresh"> {
  readonly #ports: OtherSpendPorts;
  readonly #accounts: KnownAccounts;
  #untold = new Map<string, Account>();
  #walk: Iterator<Account> | null = null;

  constructor(ports: OtherSpendPorts) {
    this.#ports = ports;
    this.#accounts = new KnownAccounts(ports);
  }

  spentIn(account: Account, startMs: number): PeriodSpend | null {
    const known = this.#accounts.need(account);
    if (known.generation !== account.budget.generation) return null;
    return known.periods.find((period) => period.startMs === startMs) ?? null;
  }

  seen(account: Account, startMs: number): OthersSpend {
    const { readAtMs } = this.#accounts.need(account);
    return {
      period: this.spentIn(account, startMs),
      ageMs: readAtMs === null ? null : this.#ports.monoMs() - readAtMs,
    };
  }

  charged(account: Account): void {
    this.#untold.set(spendKey(account.budget.id, account.child), account);
  }

  lookedUp(budget: Budget): void {
    if (budget.own !== null) this.charged(budget.own);
    else this.tellAll();
  }

  /** Tells everything anew: the engine may have lost it, or this daemon has just started. */
  tellAll(): void {
    this.#walk = allAccounts(this.#ports.book);
  }

  /** Whether all that was spent here has been told. */
  get isTold(): boolean {
    return this.#untold.size === 0 && this.#walk === null;
  }

  /** The questions of this tick, at most `max`: what is to be told first. */
  takeQuestions(max: number): Asked[] {
    this.#accounts.tick();
    this.#walkOn();
    const asked: Asked[] = [];
    const names = new Set<string>();
    for (const [name, account] of this.#untold) {
      if (asked.length >= max) return asked;
      this.#untold.delete(name);
      names.add(name);
      asked.push(this.#question(this.#accounts.find(name), account));
    }
    for (const known of this.#accounts.takeFollowed(max - asked.length, names))
      asked.push(this.#question(known, null));
    return asked;
  }

  /** Of accounts of which nothing, or nothing of late, is known. */
  takeNew(max: number): Asked[] {
    return this.#accounts.takeNew(max).map((known) => this.#question(known, null));
  }

  /** Questions about these accounts, for a list that shows them. */
  askAbout(accounts: Iterable<Account>, max: number): Asked[] {
    const asked: Asked[] = [];
    for (const account of accounts) {
      if (asked.length >= max) break;
      asked.push(this.#question(this.#accounts.need(account), null));
    }
    return asked;
  }

  /** `askedAtMs`: by the monotonic clock, before the questions were sent. */
  take(asked: readonly Asked[], answers: readonly SpendAnswer[], askedAtMs: number): void {
    for (const [i, question] of asked.entries()) {
      const { known, resetAtMs, generation } = question;
      const answer = answers[i]!;
      if (!answer.ok) {
        this.failed([question]);
        this.#ports.onRefused(answer.reason);
        continue;
      }
      if (known === null || (known.readAtMs !== null && known.readAtMs > askedAtMs)) continue;
      const others = [...answer.rows].flatMap(([host, text]) =>
        host === this.#ports.host ? [] : [periodsInRow(text, resetAtMs) ?? []],
      );
      const sums = addRows(others);
      known.periods = known.generation === generation ? atLeast(known.periods, sums) : sums;
      known.generation = generation;
      known.readAtMs = askedAtMs;
    }
  }

  /** The engine didn't answer: what it was told may be lost. */
  failed(asked: readonly Asked[]): void {
    for (const { told } of asked) if (told !== null) this.charged(told);
  }

  #question(known: Known | null, told: Account | null): Asked {
    const { book, nowMs } = this.#ports;
    const budget = told?.budget ?? known!.budget;
    const { resetAtMs, generation } = budget;
    const now = nowMs();
    return {
      account: told === null ? known!.account : spendKey(budget.id, told.child),
      row: told === null ? null : rowText(resetAtMs, freshAccount(told).spends),
      keepMs: Math.max(0, book.boundsOf(budget, now).endMs - now) + graceMs,
      resetAtMs,
      generation,
      told,
      known,
    };
  }

  #walkOn(): void {
    if (this.#walk === null || this.#ports.isLoading()) return;
    for (let i = 0; i < walkedPerTick && this.#untold.size < walkedPerTick; i++) {
      const next = this.#walk.next();
      if (next.done === true) {
        this.#walk = null;
        return;
      }
      if (next.value.spends.some(({ requests }) => requests > 0)) this.charged(next.value);
    }
  }
}

function* allAccounts({ budgets }: BudgetBook): Generator<Account> {
  for (const { own, children } of budgets.values())
    if (own !== null) yield own;
    else yield* children.values();
}
