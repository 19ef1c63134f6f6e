/**
 * What accounts have spent in the last two hours, in steps of five minutes, for forecasts. It is
 * only in memory: after a start, forecasts use the pace of the whole period until half an hour is
 * known here.
 */
import { type Pace, recentSecondsMax } from "../../shared/domain/forecast.js";
import type { PicoUsd } from "../../shared/domain/money.js";
import type { Account, RecentSums } from "./budget-account.js";

const stepMs = 300_000;
const steps = (recentSecondsMax * 1000) / stepMs;
const picoPerUsd = 1e12;

/**
 * The bound on accounts with recent sums, each about 300 bytes. Beyond it, the account that got its
 * sums first loses them.
 */
const accountsMax = 20_000;

export class RecentSpend {
  readonly #accounts = new Set<Account>();
  readonly #max: number;
  /** Accounts without sums have spent nothing since this time; null before `begin`. */
  #sinceMs: number | null = null;

  constructor(max = accountsMax) {
    this.#max = max;
  }

  /** Call at the start: nothing is known of the time before. */
  begin(nowMs: number): void {
    this.#sinceMs ??= nowMs;
  }

  /** Adds a cost, negative where an estimate is taken back. */
  add(account: Account, cost: PicoUsd | null, nowMs: number): void {
    this.begin(nowMs);
    if (cost === null || cost === 0) return;
    const step = Math.floor(nowMs / stepMs);
    const recent = account.recent ?? this.#startSums(account, step, nowMs);
    if (step > recent.step) {
      if (step - recent.step >= steps) recent.sums.fill(0);
      else for (let i = recent.step + 1; i <= step; i++) recent.sums[i % steps] = 0;
      recent.step = step;
    }
    // After a clock step back, the cost counts in the last step.
    recent.sums[recent.step % steps]! += cost;
  }

  #startSums(account: Account, step: number, nowMs: number): RecentSums {
    const recent = {
      sums: new Float64Array(steps),
      step,
      sinceMs: Math.max(this.#sinceMs ?? nowMs, account.budget.sinceMs),
    };
    account.recent = recent;
    this.#accounts.add(account);
    if (this.#accounts.size > this.#max) {
      const [oldest] = this.#accounts;
      oldest!.recent = null;
      this.#accounts.delete(oldest!);
      this.#sinceMs = nowMs;
    }
    return recent;
  }

  /**
   * The pace at which an account, or a copy of one, has spent recently; null if nothing is known.
   */
  recentPace(account: Account, nowMs: number): Pace | null {
    const { recent, budget } = account;
    const sinceMs =
      recent?.sinceMs ?? (this.#sinceMs === null ? nowMs : Math.max(this.#sinceMs, budget.sinceMs));
    const currentStep = Math.floor(nowMs / stepMs);
    const firstStep = currentStep - steps + 1;
    const coveredMs = Math.min(nowMs - sinceMs, nowMs - firstStep * stepMs);
    if (coveredMs <= 0) return null;
    let pico = 0;
    if (recent !== null && currentStep >= recent.step)
      for (let i = firstStep; i <= recent.step; i++) pico += recent.sums[i % steps]!;
    return { usd: pico / picoPerUsd, seconds: coveredMs / 1000 };
  }

  /** The accounts that have spent something recently. Drops the sums of all others. */
  *active(nowMs: number): Generator<Account> {
    const oldest = Math.floor(nowMs / stepMs) - steps;
    for (const account of this.#accounts) {
      if (account.recent !== null && account.recent.step > oldest) yield account;
      else {
        account.recent = null;
        this.#accounts.delete(account);
      }
    }
  }
}
