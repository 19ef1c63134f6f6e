/**
 * Tells the engine what this host has spent on budgets and reads what the others have: twice a
 * second, soon after an account is first needed, and for lists that show one. No verdict waits.
 */
import type { Account, OtherHosts } from "../../budgets/budget-account.js";
import { accountsPerTick } from "../cluster-bounds.js";
import { EngineAwayError } from "../engine/engine.js";
import { type Asked, OtherSpend, type OtherSpendPorts } from "./other-spend.js";
import type { SpendBoard } from "./spend-board.js";

/**
 * Between two ticks: what one host has spent is told within this, and read by the others within as
 * much again, so that it is at most a second old.
 */
export const spendTickMs = 500;
/** Accounts in one question to the engine: its answer is read in less than a millisecond. */
const perQuestion = 200;
/** Between the first verdict on an account and the question about it. */
const soonMs = 20;
/** How long a list waits for fresh figures; then it shows those that it has. */
const listWaitMs = 500;
/** Accounts that one list asks about. */
const listedMax = 1000;

interface ExchangePorts extends Omit<OtherSpendPorts, "onNew"> {
  readonly board: SpendBoard;
  /** Runs `run` once after `ms`. */
  after(ms: number, run: () => void): void;
}

export class SpendExchange extends OtherSpend implements OtherHosts {
  readonly #ports: ExchangePorts;
  #running: Promise<boolean> | null = null;

  constructor(ports: ExchangePorts) {
    super({
      ...ports,
      onNew: () => ports.after(soonMs, () => void this.#ask(this.takeNew(accountsPerTick))),
    });
    this.#ports = ports;
    this.tellAll();
  }

  /** What is done each half second. False: the engine didn't answer. */
  tick(): Promise<boolean> {
    this.#running ??= this.#ask(this.takeQuestions(accountsPerTick)).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolved when what the others have spent on these accounts is fresh, or it takes too long. */
  async refresh(accounts: Iterable<Account>): Promise<void> {
    const asked = this.askAbout(accounts, listedMax);
    if (asked.length === 0) return;
    await Promise.race([
      this.#ask(asked),
      new Promise<void>((resolve) => this.#ports.after(listWaitMs, resolve)),
    ]);
  }

  async #ask(asked: readonly Asked[]): Promise<boolean> {
    const { board, monoMs } = this.#ports;
    for (let i = 0; i < asked.length; i += perQuestion) {
      const some = asked.slice(i, i + perQuestion);
      const askedAtMs = monoMs();
      try {
        this.take(some, await board.exchange(some), askedAtMs);
      } catch (error) {
        this.failed(asked.slice(i));
        if (!(error instanceof EngineAwayError)) throw error;
        return false;
      }
    }
    return true;
  }
}
