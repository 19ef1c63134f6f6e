/**
 * Virtual time, and the events in it. One event runs at a time; after it all its promises run, then
 * the ends of its turn (where sockets write), then the checks. A process can be paused, so that its
 * events happen late, or killed, so that they never happen. Not here: what a process does.
 */
import { EventQueue, type QueuedEvent } from "./event-queue.js";
import { createRandom, type Random } from "./random.js";

/** An invariant didn't hold, or a step threw. */
export class Violation extends Error {
  override name = "Violation";
}

export interface Process {
  readonly name: string;
  alive: boolean;
  pausedUntilMs: number;
  /** Whether it dies at the end of its next event, before its sockets send what it wrote. */
  doomed: boolean;
  /**
   * Called when it dies, for the effects on others: sockets close, a commit may or may not be done.
   */
  readonly onDeath: (() => void)[];
}

interface Event extends QueuedEvent {
  atMs: number;
  readonly owner: Process | null;
  readonly run: () => void;
  cancelled: boolean;
  /** Whether a pause of its owner has postponed it. */
  isPostponed: boolean;
}

const linesKept = 80;
/** Fifty times the events of a usual seed. */
const eventsMax = 200_000;

/** Two worlds with the same seed are equal. */
export class World {
  readonly random: Random;
  /** How often each kind of fault, and each other counted thing, has happened. */
  readonly tally = new Map<string, number>();
  readonly #queue = new EventQueue<Event>();
  readonly #turnEnds: { readonly owner: Process; readonly run: () => void }[] = [];
  readonly #lines: string[] = [];
  #nowMs = 0;
  #order = 0;
  #events = 0;
  #traceHash = 0x811c9dc5;
  #failed: Violation | null = null;

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  /** Milliseconds since the beginning; it never steps. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get events(): number {
    return this.#events;
  }

  /** The last lines of the trace. */
  get lines(): readonly string[] {
    return this.#lines.slice(-linesKept);
  }

  get traceHash(): number {
    return this.#traceHash >>> 0;
  }

  process(name: string): Process {
    return { name, alive: true, pausedUntilMs: 0, doomed: false, onDeath: [] };
  }

  kill(process: Process): void {
    if (!process.alive) return;
    process.alive = false;
    this.trace(`${process.name} is dead`);
    for (const run of process.onDeath.splice(0)) run();
  }

  pause(process: Process, ms: number): void {
    process.pausedUntilMs = Math.max(process.pausedUntilMs, this.#nowMs + ms);
  }

  /** Ends a pause: postponed events happen now, in their order and before later events. */
  resume(process: Process): void {
    const nowMs = this.#nowMs;
    process.pausedUntilMs = Math.min(process.pausedUntilMs, nowMs);
    for (const event of this.#queue.takeAll())
      this.#queue.push(
        event.isPostponed && event.owner === process
          ? Object.assign(event, { atMs: nowMs, isPostponed: false })
          : event,
      );
  }

  /**
   * Runs `run` after `ms`, unless its owner is dead by then. Returns a function that cancels it.
   */
  after(ms: number, owner: Process | null, run: () => void): () => void {
    const event: Event = {
      atMs: this.#nowMs + ms,
      order: ++this.#order,
      owner,
      run,
      cancelled: false,
      isPostponed: false,
    };
    this.#queue.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  every(ms: number, owner: Process, run: () => void): () => void {
    let cancel = (): void => {};
    const scheduleNext = (): void => {
      cancel = this.after(ms, owner, () => {
        scheduleNext();
        run();
      });
    };
    scheduleNext();
    return () => cancel();
  }

  /** Runs `run` at the end of this event, after all its promises. */
  afterTurn(owner: Process, run: () => void): void {
    this.#turnEnds.push({ owner, run });
  }

  count(kind: string, by = 1): void {
    this.tally.set(kind, (this.tally.get(kind) ?? 0) + by);
  }

  trace(line: string): void {
    const text = `${this.#nowMs.toFixed(3)} ${line}`;
    for (let i = 0; i < text.length; i++)
      this.#traceHash = Math.imul(this.#traceHash ^ text.charCodeAt(i), 0x01000193);
    this.#lines.push(text);
    if (this.#lines.length > 2 * linesKept) this.#lines.splice(0, linesKept);
  }

  fail(message: string): never {
    // Kept, because the caller may catch the exception.
    this.#failed ??= new Violation(message);
    throw this.#failed;
  }

  /** Runs all events up to a time; `check` after each. Throws a `Violation`. */
  async run(untilMs: number, check: () => void): Promise<void> {
    // Exceptions that no caller gets: those of a step's promises and microtasks.
    const rejected: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejected.push(reason);
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onRejection);
    try {
      for (let event = this.#next(untilMs); event !== null; event = this.#next(untilMs)) {
        await this.#runEvent(event);
        if (this.#failed !== null) throw this.#failed;
        if (rejected.length > 0) throw rejected[0];
        check();
      }
      this.#nowMs = untilMs;
    } finally {
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onRejection);
    }
  }

  /** The next event up to a time; moves the time to it. */
  #next(untilMs: number): Event | null {
    for (;;) {
      const event = this.#queue.first;
      if (event === undefined || event.atMs > untilMs) return null;
      if (this.#events > eventsMax)
        throw new Violation(`it isn't at rest within ${eventsMax} events`);
      this.#queue.pop();
      this.#nowMs = event.atMs;
      const { owner } = event;
      if (event.cancelled || owner?.alive === false) continue;
      if (owner === null || owner.pausedUntilMs <= this.#nowMs) return event;
      // Postpone the same event object, so that it can still be cancelled.
      this.#queue.push(Object.assign(event, { atMs: owner.pausedUntilMs, isPostponed: true }));
    }
  }

  async #runEvent({ owner, run }: Event): Promise<void> {
    this.#events++;
    run();
    await allPromises();
    if (owner?.doomed) this.kill(owner);
    while (this.#turnEnds.length > 0) {
      for (const end of this.#turnEnds.splice(0)) if (end.owner.alive) end.run();
      await allPromises();
    }
  }
}

/** Resolves in the event loop's next turn, when every promise that can continue has continued. */
function allPromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
