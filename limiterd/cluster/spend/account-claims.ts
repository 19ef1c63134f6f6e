/**
 * The claims of this host to the amounts of hard budgets (`docs/several-hosts.md`, "Hard caps"). A
 * host reports what its running requests hold, and an advance, beside what it has spent. It uses no
 * more than its last claim that the engine has confirmed, and than the spend and claims of other
 * hosts leave. So all hosts together stay within the amount, as `shares/share-tokens.ts` explains
 * for tokens. Pure but for its ports. Not here: the exchange with the engine
 * (`exchange-spend.ts`).
 *
 * A claim is the amount that a host reports beside its spend, in one period (`HostClaim`): what its
 * running requests hold, and an advance. An `AccountClaim` is all that this host knows of the
 * claims to one account: its own (`StatedClaim`), and the other hosts'. Callers pass the part of
 * the budget that counts at the moment (`CountedPart`), and what a request needs and wants beside
 * what others hold (`ClaimNeeds`). `claimedByOthers`, `leftOf` and `lacks` only read; `want` and
 * `renew` make the host claim more.
 */
import { freshMs, knownAccountsMax, parkedMs } from "../../bounds.js";
import type { Account, Budget, BudgetClaims, CountedPart } from "../../budgets/budget-account.js";
import { spendKey } from "../../budgets/stored-budget.js";
import type { ClaimNeeds } from "../../counters/window.js";
import { Advance } from "../../shares/advance.js";
import type { Awaited, ClusterTurn } from "../../shares/cluster-turn.js";

/** How long a claim of nothing is remembered, in ms. */
const keptMs = 60_000;

/** What a host claims beside its spend, in the period or slice that began at `startMs`. */
export interface HostClaim {
  readonly startMs: number;
  /** Pico-dollars. */
  readonly amount: number;
}

interface ClaimPorts {
  readonly turn: ClusterTurn;
  monoMs(): number;
  /** Whether the engine doesn't answer. */
  isAway(): boolean;
  /** Asks the engine soon. */
  ask(claim: AccountClaim): void;
  /** When the running period or slice began. */
  startMs(budget: Budget): number;
  /** What the account has left beside the spend and the claims of all hosts. */
  leftOf(account: Account): number;
}

/** A claim that the engine has confirmed, or may have received. */
interface StatedClaim {
  /** As `HostClaim.startMs`. */
  readonly startMs: number;
  readonly generation: number;
  /** The value of `#used` up to which the claim allows spending. */
  readonly upTo: number;
  readonly held: number;
}

/** This host's claim to one account. */
export class AccountClaim implements Awaited {
  readonly budget: Budget;
  readonly child: string;
  readonly name: string;
  waiting = 0;
  readonly #ports: ClaimPorts;
  readonly #advance = new Advance();
  /** What this host has spent since this object was made, in pico-dollars. */
  #used = 0;
  #confirmed: StatedClaim | null = null;
  /** The least `upTo` of the claims sent to the engine since the last confirmation. */
  #leastUpTo = Number.POSITIVE_INFINITY;
  /** The claim of the pending question; null without one. */
  #pending: StatedClaim | null = null;
  #answeredMonoMs = Number.NEGATIVE_INFINITY;
  #reportedHeld = 0;
  /** The period or slice of the last report. */
  #reportedStartMs = 0;
  /** When a judgement last needed it. */
  #neededMonoMs: number;
  /** The claims of the other hosts, by host. */
  #others: ReadonlyMap<string, HostClaim> = new Map();

  constructor({ budget, child }: Account, ports: ClaimPorts) {
    this.budget = budget;
    this.child = child;
    this.name = spendKey(budget.id, child);
    this.#ports = ports;
    this.#neededMonoMs = ports.monoMs();
  }

  /** Whether a question about it is pending: at most one is. */
  get isAsked(): boolean {
    return this.#pending !== null;
  }

  get #held(): number {
    return this.budget.held?.of(this.child) ?? 0;
  }

  get #isFresh(): boolean {
    return this.#ports.monoMs() - this.#answeredMonoMs <= freshMs;
  }

  get #settlingMs(): number {
    return Math.max(0, this.#ports.turn.settledAtMonoMs - this.#ports.monoMs());
  }

  get isUnknown(): boolean {
    return !this.#isFresh || this.#settlingMs > 0;
  }

  get willTimeOut(): boolean {
    return this.#ports.isAway() || (this.#isFresh && this.#settlingMs > parkedMs);
  }

  /** The failure mode if it decides in place of the engine; as of a counter (`share.ts`). */
  get #mode(): ClusterTurn["failureMode"] | null {
    const { purpose, failureMode } = this.#ports.turn;
    if (this.#ports.isAway()) return failureMode;
    if (this.#settlingMs > 0) return purpose !== "ask" || this.#isFresh ? failureMode : null;
    return purpose === "decide" && !this.#isFresh ? failureMode : null;
  }

  ask(): void {
    this.#ports.ask(this);
  }

  /** Whether the host should report a change to the engine, or has an advance to give back. */
  get isUnsent(): boolean {
    const held = this.#held;
    if (this.#advance.amount > 0 || held !== this.#reportedHeld) return true;
    // What is held in a later period counts there.
    return held > 0 && this.#ports.startMs(this.budget) !== this.#reportedStartMs;
  }

  /** Whether this object can be dropped: nothing would be lost. */
  get isForgettable(): boolean {
    return (
      !this.isUnsent &&
      this.#held === 0 &&
      this.waiting === 0 &&
      this.#pending === null &&
      this.#ports.monoMs() - this.#neededMonoMs > keptMs
    );
  }

  noteCharge(cost: number): void {
    this.#used += cost;
  }

  /** Call when the spend has changed otherwise: the confirmed claim has no meaning then. */
  clear(): void {
    this.#confirmed = null;
  }

  claimedByOthers({ claimsFromMs, endMs }: CountedPart): number {
    let sum = 0;
    for (const { startMs, amount } of this.#others.values())
      if (startMs >= claimsFromMs && startMs < endMs) sum += amount;
    return sum;
  }

  leftOf(part: CountedPart): number {
    const mode = this.#mode;
    if (mode === "open") return Number.POSITIVE_INFINITY;
    const left = this.#leftOfConfirmed(part.fromMs);
    if (mode !== "local") return left;
    return Math.max(left, Math.floor(part.amount / this.#ports.turn.hostCount) - part.spentHere());
  }

  renew({ fromMs }: CountedPart): void {
    if (this.#mode === "open") return;
    const { turn, isAway, monoMs } = this.#ports;
    this.#neededMonoMs = monoMs();
    if (turn.purpose === "look" || this.#pending !== null || isAway()) return;
    if (this.#advance.isLow(this.#leftOfConfirmed(fromMs) - this.#held)) this.ask();
  }

  #leftOfConfirmed(fromMs: number): number {
    const confirmed = this.#confirmed;
    if (confirmed === null || confirmed.startMs < fromMs) return 0;
    if (confirmed.generation !== this.budget.generation) return 0;
    return Math.min(confirmed.upTo, this.#leastUpTo) - this.#used;
  }

  lacks(part: CountedPart, { held, need, want }: ClaimNeeds): boolean {
    const { purpose } = this.#ports.turn;
    const least = purpose === "ask" ? want : need;
    return purpose !== "look" && this.leftOf(part) < held + least;
  }

  want(amount: number): void {
    this.#advance.want(amount);
    this.#ports.turn.lacking.push(this);
  }

  /** The claim for a report, which is sent now. */
  report(account: Account, isLast: boolean): HostClaim {
    const held = this.#held;
    const { turn, leftOf, monoMs } = this.#ports;
    const startMs = this.#ports.startMs(this.budget);
    const spare = this.#leftOfConfirmed(startMs) - held;
    if (isLast) this.#advance.clear();
    else
      this.#advance.next({
        monoMs: monoMs(),
        hosts: turn.hostCount,
        spare,
        left: Number.isFinite(this.#answeredMonoMs) ? leftOf(account) - held : null,
      });
    const amount = held + this.#advance.amount;
    const { generation } = this.budget;
    this.#pending = { startMs, generation, upTo: this.#used + amount, held };
    this.#leastUpTo = Math.min(this.#leastUpTo, this.#pending.upTo);
    return { startMs, amount };
  }

  /** Notes the claims of other hosts. Claims that are missing were lost, and still count. */
  noteOthers(others: ReadonlyMap<string, HostClaim>): void {
    this.#others = new Map([...this.#others, ...others]);
  }

  /** The question with the last report has ended. */
  endQuestion(isAnswered: boolean): void {
    const pending = this.#pending;
    this.#pending = null;
    if (!isAnswered || pending === null) return;
    this.#answeredMonoMs = this.#ports.monoMs();
    this.#reportedHeld = pending.held;
    this.#reportedStartMs = pending.startMs;
    if (this.#settlingMs > 0) return;
    this.#confirmed = pending;
    this.#leastUpTo = Number.POSITIVE_INFINITY;
  }
}

/** The claims of this host to all accounts that it needs. */
export class AccountClaims implements BudgetClaims {
  readonly #ports: ClaimPorts;
  readonly #claims = new Map<string, AccountClaim>();

  constructor(ports: ClaimPorts) {
    this.#ports = ports;
  }

  find(name: string): AccountClaim | undefined {
    return this.#claims.get(name);
  }

  claimedByOthers(account: Account, part: CountedPart): number {
    return this.find(spendKey(account.budget.id, account.child))?.claimedByOthers(part) ?? 0;
  }

  leftOf(account: Account, part: CountedPart): number {
    return this.#of(account)?.leftOf(part) ?? 0;
  }

  lacks(account: Account, part: CountedPart, needs: ClaimNeeds): boolean {
    return this.#of(account)?.lacks(part, needs) ?? true;
  }

  want(account: Account, amount: number): void {
    this.#of(account)?.want(amount);
  }

  renew(account: Account, part: CountedPart): void {
    this.#of(account)?.renew(part);
  }

  /** The claims with something to report or to give back. Forgets claims that aren't needed. */
  takeUnsent(): readonly AccountClaim[] {
    const unsent: AccountClaim[] = [];
    for (const claim of this.#claims.values())
      if (claim.isForgettable) this.#claims.delete(claim.name);
      else if (claim.isUnsent) unsent.push(claim);
    return unsent;
  }

  /** Call when the spend of a budget was looked up again. */
  clear(budget: Budget): void {
    for (const claim of this.#claims.values()) if (claim.budget === budget) claim.clear();
  }

  /** The claim, made if needed; null: there are too many. */
  #of(account: Account): AccountClaim | null {
    const { budget, child } = account;
    const name = spendKey(budget.id, child);
    const existing = this.#claims.get(name);
    if (existing?.budget === budget) return existing;
    if (this.#claims.size >= knownAccountsMax) return null;
    const claim = new AccountClaim(account, this.#ports);
    this.#claims.set(name, claim);
    return claim;
  }
}
