/**
 * A request that is repeated while its page is visible. An answer stays while the next one is
 * pending or fails: the page shows its age.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Answer, Problem } from "./gateway-client.js";

export interface PolledValue<T> {
  /** The latest answer; null before the first. */
  readonly body: T | null;
  /** When it arrived, by the browser's monotonic clock. */
  readonly heardMs: number;
  /** Why there is no newer answer. */
  readonly problem: Problem | null;
}

/** Cancelled by the signal. */
type Ask<T> = (signal: AbortSignal) => Promise<Answer<T>>;

interface PollTimes {
  /** 0 to request it once. */
  readonly everyMs: number;
  /** Whether the answer is updated in another way, so that it needn't be requested. */
  readonly isStreamed?: () => boolean;
}

/** The least time from an answer to the next request after news. */
const newsEveryMs = 1_000;
/** An answer that takes long is requested less often. */
const restFactor = 10;

export class Poll<T> {
  readonly #ask: Ask<T>;
  readonly #times: PollTimes;
  readonly #state = signal<PolledValue<T>>({ body: null, heardMs: 0, problem: null });
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asking: AbortController | null = null;
  #isRunning = false;
  /** Whether news arrived during a request. */
  #hasNews = false;
  #restsUntilMs = 0;

  constructor(ask: Ask<T>, times: PollTimes) {
    this.#ask = ask;
    this.#times = times;
  }

  get state(): ReadonlySignal<PolledValue<T>> {
    return this.#state;
  }

  /** Returns a function that stops it. */
  start(): () => void {
    this.#isRunning = true;
    const onVisible = (): void => {
      if (document.visibilityState === "visible" && this.#timer === null && this.#times.everyMs > 0)
        this.refresh();
    };
    this.refresh();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      this.#isRunning = false;
      document.removeEventListener("visibilitychange", onVisible);
      this.#asking?.abort();
      this.#later(null);
    };
  }

  /** Sends the request now. */
  refresh(): void {
    this.#asking?.abort();
    const asking = new AbortController();
    const askedMs = performance.now();
    this.#asking = asking;
    this.#hasNews = false;
    this.#later(null);
    void this.#ask(asking.signal).then((answer) => {
      if (asking.signal.aborted) return;
      this.#asking = null;
      const nowMs = performance.now();
      this.#restsUntilMs = nowMs + Math.max(newsEveryMs, restFactor * (nowMs - askedMs));
      this.take(answer);
      if (this.#hasNews) this.refreshSoon();
      else this.#later(this.#times.everyMs);
    });
  }

  /** Sends the request once the last answer is old enough, because there is news. */
  refreshSoon(): void {
    if (this.#asking !== null) this.#hasNews = true;
    else this.#later(Math.max(1, this.#restsUntilMs - performance.now()));
  }

  /** Accepts an answer from elsewhere, such as from a change. */
  take(answer: Answer<T>): void {
    this.#state.value = answer.ok
      ? { body: answer.body, heardMs: performance.now(), problem: null }
      : { ...this.#state.value, problem: answer.problem };
  }

  /** Schedules the next request; not at all if `ms` is null or 0. */
  #later(ms: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const isWanted = this.#isRunning && document.visibilityState === "visible";
    if (ms === null || ms === 0 || !isWanted) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#times.isStreamed?.() === true) this.#later(this.#times.everyMs);
      else this.refresh();
    }, ms);
  }
}
