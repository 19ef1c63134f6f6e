/** One timer for all deadlines of what the daemon was asked, as long as anything waits. */
import type { LimiterClientPorts } from "../limiter-link.js";

/** What waits, and resolves at its deadline. */
interface Waiting {
  readonly size: number;
  expire(nowMonoMs: number): void;
}

export class ExpiryTimer {
  readonly #ports: Pick<LimiterClientPorts, "monoMs" | "schedule">;
  readonly #intervalMs: number;
  readonly #waiting: readonly Waiting[];
  #scheduled = false;

  /** Deadlines are looked at ten times in their length. */
  constructor(
    ports: Pick<LimiterClientPorts, "monoMs" | "schedule">,
    deadlineMs: number,
    waiting: readonly Waiting[],
  ) {
    this.#ports = ports;
    this.#intervalMs = Math.max(10, deadlineMs / 10);
    this.#waiting = waiting;
  }

  /** To be called when something waits. */
  start(): void {
    if (this.#scheduled || this.#waiting.every(({ size }) => size === 0)) return;
    this.#scheduled = true;
    this.#ports.schedule(this.#intervalMs, () => {
      this.#scheduled = false;
      const nowMonoMs = this.#ports.monoMs();
      for (const waiting of this.#waiting) waiting.expire(nowMonoMs);
      this.start();
    });
  }
}
