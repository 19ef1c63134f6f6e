/**
 * Requests that no rule limits, since they have no admission: how many of each endpoint one caller
 * may run at a time, and in which order they begin.
 */
import { watchersMax } from "../bounds.js";
import type { UnlimitedEndpoint } from "../http/match-route.js";

export class RunningPerCaller<Kind extends string> {
  readonly #max: Readonly<Record<Kind, number>>;
  /** By kind and caller, without zeros. */
  readonly #running = new Map<string, number>();

  constructor(max: Readonly<Record<Kind, number>>) {
    this.#max = max;
  }

  /** False if the caller has the maximum. */
  begin(kind: Kind, caller: string): boolean {
    const key = `${kind} ${caller}`;
    const running = this.#running.get(key) ?? 0;
    if (running >= this.#max[kind]) return false;
    this.#running.set(key, running + 1);
    return true;
  }

  end(kind: Kind, caller: string): void {
    const key = `${kind} ${caller}`;
    const remaining = (this.#running.get(key) ?? 1) - 1;
    if (remaining === 0) this.#running.delete(key);
    else this.#running.set(key, remaining);
  }

  /** The requests of all kinds and callers; for tests. */
  get size(): number {
    let size = 0;
    for (const count of this.#running.values()) size += count;
    return size;
  }
}

/**
 * Starts only a few cheap requests in each turn of the event loop, round robin over their callers,
 * so that other requests run in between: a burst of a thousand reports would delay everyone else by
 * 0.1 s.
 */
export class FairTurns {
  readonly #perTurn: number;
  readonly #afterTurn: (run: () => void) => void;
  /** Started in this turn; reset to 0 at its end. */
  #begun = 0;
  /** First come, first served per caller; callers are in round-robin order. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** `afterTurn` runs a callback after the current turn. */
  constructor(perTurn: number, afterTurn: (run: () => void) => void) {
    this.#perTurn = perTurn;
    this.#afterTurn = afterTurn;
  }

  /** The number of callers that wait; for tests. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves when the request may begin; null if it may begin immediately. */
  take(caller: string): Promise<void> | null {
    if (this.#waiting.size === 0 && this.#begun < this.#perTurn) {
      this.#begin();
      return null;
    }
    return new Promise((resolve) => {
      const waitingOfCaller = this.#waiting.get(caller);
      if (waitingOfCaller === undefined) this.#waiting.set(caller, [resolve]);
      else waitingOfCaller.push(resolve);
    });
  }

  #begin(): void {
    if (this.#begun++ === 0) this.#afterTurn(() => this.#turnEnded());
  }

  #turnEnded(): void {
    this.#begun = 0;
    for (const [caller, waiting] of this.#waiting) {
      if (this.#begun === this.#perTurn) return;
      this.#begin();
      this.#waiting.delete(caller);
      const begin = waiting.shift()!;
      // Moves the caller to the end.
      if (waiting.length > 0) this.#waiting.set(caller, waiting);
      begin();
    }
  }
}

/** Each calls a provider. */
const providerCallsMax = 256;
/** Each calls the daemon, which answers one at a time per proxy. */
const daemonCallsMax = 256;
/** Each may hold a body of 4 MiB; the daemon holds four of them. */
const fileCallsMax = 4;
/** Answered from memory, or by a daemon call that equal requests share. */
const repliesMax = 1000;
/** Each stays open; its requests are limited like any others. */
const socketsMax = 1000;
/** Each may be megabytes of text, and one of them needs the daemon. */
const scrapesMax = 8;

/** How many requests of an endpoint one caller may run at a time. */
export const runningPerCallerMax: Readonly<Record<UnlimitedEndpoint, number>> = {
  count_tokens: providerCallsMax,
  input_tokens: providerCallsMax,
  count_content_tokens: providerCallsMax,
  responses_socket: socketsMax,
  mcp_session: socketsMax,
  files: providerCallsMax,
  batches: providerCallsMax,
  stored_responses: providerCallsMax,
  stored_interactions: providerCallsMax,
  uploads: providerCallsMax,
  containers: providerCallsMax,
  conversations: providerCallsMax,
  message_batches: providerCallsMax,
  model: repliesMax,
  models: repliesMax,
  usage: repliesMax,
  "rate-limits": daemonCallsMax,
  "rate-limits-children": daemonCallsMax,
  "rate-limits-test": daemonCallsMax,
  "rate-limits-raise": daemonCallsMax,
  "rate-limits-reset-one": daemonCallsMax,
  "rate-limits-reset": daemonCallsMax,
  budgets: daemonCallsMax,
  "budgets-children": daemonCallsMax,
  "budgets-raise": daemonCallsMax,
  "budgets-reset-one": daemonCallsMax,
  "budgets-reset": daemonCallsMax,
  "budgets-settings": daemonCallsMax,
  limits: fileCallsMax,
  "auth-keys": daemonCallsMax,
  "auth-keys-rotate": daemonCallsMax,
  "auth-keys-deactivate": daemonCallsMax,
  "auth-keys-delete": daemonCallsMax,
  "denied-jwts": daemonCallsMax,
  explain: daemonCallsMax,
  live: watchersMax,
  targets: repliesMax,
  "in-flight": daemonCallsMax,
  queues: daemonCallsMax,
  refusals: daemonCallsMax,
  "upstream-limits": daemonCallsMax,
  status: daemonCallsMax,
  "usage-summary": daemonCallsMax,
  "usage-records": daemonCallsMax,
  "usage-export": daemonCallsMax,
  "usage-follow": daemonCallsMax,
  "usage-reprice": daemonCallsMax,
  providers: repliesMax,
  config: repliesMax,
  alerts: daemonCallsMax,
  "alerts-test": fileCallsMax,
  requests: daemonCallsMax,
  request: daemonCallsMax,
  sessions: daemonCallsMax,
  tenants: daemonCallsMax,
  traffic: daemonCallsMax,
  audit: daemonCallsMax,
  reconciliations: daemonCallsMax,
  metrics: scrapesMax,
  "metrics-limiter": scrapesMax,
};
