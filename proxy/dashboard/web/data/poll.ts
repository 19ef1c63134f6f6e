/**
 * One question that is asked again and again while its page is visible. An answer stays while the
 * next one is waited for, or fails: the page shows how old it is.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Answer, Problem } from "./gateway-client.js";

export interface Polled<T> {
  /** The latest answer; null until there is one. */
  readonly body: T | null;
  /** When it came, by the browser's monotonic clock. */
  readonly heardMs: number;
  /** Why there is no newer one. */
  readonly problem: Problem | null;
}

/** Given up when the signal says so. */
type Ask<T> = (signal: AbortSignal) => Promise<Answer<T>>;

export class Poll<T> {
  readonly #ask: Ask<T>;
  readonly #everyMs: number;
  readonly #state = signal<Polled<T>>({ body: null, heardMs: 0, problem: null });
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asking: AbortController | null = null;
  #running = false;

  /** `everyMs` 0: once. */
  constructor(ask: Ask<T>, everyMs: number) {
    this.#ask = ask;
    this.#everyMs = everyMs;
  }

  get state(): ReadonlySignal<Polled<T>> {
    return this.#state;
  }

  /** Ends with what it returns. */
  start(): () => void {
    this.#running = true;
    const onVisible = (): void => {
      if (document.visibilityState === "visible" && this.#timer === null && this.#everyMs > 0)
        this.refresh();
    };
    this.refresh();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      this.#running = false;
      document.removeEventListener("visibilitychange", onVisible);
      this.#asking?.abort();
      this.#later(null);
    };
  }

  /** Asks now. */
  refresh(): void {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#later(null);
    void this.#ask(asking.signal).then((answer) => {
      if (asking.signal.aborted) return;
      this.#asking = null;
      this.take(answer);
      if (this.#running && this.#everyMs > 0 && document.visibilityState === "visible")
        this.#later(this.#everyMs);
    });
  }

  /** An answer that came on another way, such as with a change. */
  take(answer: Answer<T>): void {
    this.#state.value = answer.ok
      ? { body: answer.body, heardMs: performance.now(), problem: null }
      : { ...this.#state.value, problem: answer.problem };
  }

  #later(ms: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer =
      ms === null
        ? null
        : setTimeout(() => {
            this.#timer = null;
            this.refresh();
          }, ms);
  }
}
