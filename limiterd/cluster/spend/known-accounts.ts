/**
 * The accounts whose spend on other hosts is known here. Those that verdicts have used recently are
 * followed; the others keep the last figures until their period is over.
 */

import { knownAccountsMax } from "../../bounds.js";
import type { Account, Budget } from "../../budgets/budget-account.js";
import type { BudgetBook } from "../../budgets/budget-book.js";
import type { PeriodSpend } from "../../budgets/spend.js";
import { spendKey } from "../../budgets/stored-budget.js";

/** How many ticks an account is followed after its last verdict. */
const followedTicks = 120;
/** How long figures are kept after their period, in ms: clocks differ. */
export const graceMs = 3_600_000;
/** Entries that one tick checks for expiry. */
const sweptPerTick = 2000;

export interface OtherSpend {
  readonly account: string;
  readonly budget: Budget;
  /** The budget's generation at the question: after a later reset, the figures don't count. */
  generation: number;
  periods: readonly PeriodSpend[];
  /** On the monotonic clock; null: never. */
  readAtMs: number | null;
  /** The tick of the last verdict. */
  neededTick: number;
  /** The end of the period that the last verdict judged. */
  endMs: number;
}

interface KnownPorts {
  readonly book: Pick<BudgetBook, "countsUntil">;
  nowMs(): number;
  /** Called once when `takeNew` has accounts, until it is called. */
  onNew(): void;
}

export class KnownAccounts {
  readonly #ports: KnownPorts;
  readonly #byName = new Map<string, OtherSpend>();
  /** Accounts that verdicts have used recently, the longest unread first. */
  readonly #followed = new Set<OtherSpend>();
  readonly #new = new Set<OtherSpend>();
  #sweep: Iterator<OtherSpend> | null = null;
  #tick = 0;

  constructor(ports: KnownPorts) {
    this.#ports = ports;
  }

  find(account: string): OtherSpend | null {
    return this.#byName.get(account) ?? null;
  }

  /** Returns what is known of an account for a verdict or a list, and follows it. */
  need(account: Account): OtherSpend {
    const { budget, child } = account;
    const name = spendKey(budget.id, child);
    let entry = this.#byName.get(name);
    if (entry === undefined || entry.budget !== budget) {
      entry = {
        account: name,
        budget,
        generation: budget.generation,
        periods: entry?.periods ?? [],
        readAtMs: entry?.readAtMs ?? null,
        neededTick: Number.NEGATIVE_INFINITY,
        endMs: 0,
      };
      this.#remember(entry);
    }
    if (entry.neededTick === this.#tick) return entry;
    if (this.#tick - entry.neededTick > followedTicks) {
      if (this.#new.size === 0) this.#ports.onNew();
      this.#new.add(entry);
      this.#followed.add(entry);
    }
    entry.neededTick = this.#tick;
    entry.endMs = this.#ports.book.countsUntil(budget, this.#ports.nowMs());
    return entry;
  }

  /** Accounts that a verdict has used and that have no recent figures. */
  takeNew(max: number): OtherSpend[] {
    const accounts = [...this.#new].slice(0, max);
    this.#new.clear();
    return accounts;
  }

  /** Advances the tick and removes expired accounts. */
  tick(): void {
    this.#tick++;
    this.#sweep ??= this.#byName.values();
    const now = this.#ports.nowMs();
    for (let i = 0; i < sweptPerTick; i++) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = null;
        return;
      }
      const entry = next.value;
      if (entry.endMs + graceMs < now) this.#forget(entry);
    }
  }

  /** Up to `max` followed accounts, without those in `leftOut`; the others come first next time. */
  takeFollowed(max: number, leftOut: ReadonlySet<string>): OtherSpend[] {
    const accounts: OtherSpend[] = [];
    for (const entry of this.#followed) {
      if (accounts.length >= max) break;
      if (this.#tick - entry.neededTick > followedTicks) this.#followed.delete(entry);
      else if (!leftOut.has(entry.account)) accounts.push(entry);
    }
    for (const entry of accounts) {
      this.#followed.delete(entry);
      this.#followed.add(entry);
    }
    return accounts;
  }

  #remember(entry: OtherSpend): void {
    const former = this.#byName.get(entry.account);
    if (former !== undefined) this.#forget(former);
    else if (this.#byName.size >= knownAccountsMax)
      // The oldest entry.
      for (const oldest of this.#byName.values()) {
        this.#forget(oldest);
        break;
      }
    this.#byName.set(entry.account, entry);
  }

  #forget(entry: OtherSpend): void {
    this.#byName.delete(entry.account);
    this.#followed.delete(entry);
    this.#new.delete(entry);
  }
}
