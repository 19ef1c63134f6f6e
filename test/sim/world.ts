/**
 * Virtual time and what happens in it. One event runs at a time; after it all its promises run,
 * then the ends of its turn (where sockets write), then the checks. A process can be paused, so
 * that its events happen late, or killed, so that they never do; nothing here knows what a process
 * does.
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
  /** Dies at the end of its next event, before what it wrote has left. */
  doomed: boolean;
  /** What the world sees when it dies: its sockets close, its commit is undecided. */
  readonly onDeath: (() => void)[];
}

interface Event extends QueuedEvent {
  atMs: number;
  readonly owner: Process | null;
  readonly run: () => void;
  cancelled: boolean;
  /** A pause of its owner has put it off. */
  putOff: boolean;
}

export interface World {
  readonly random: Random;
  /** Milliseconds since the beginning; never steps. */
  readonly nowMs: number;
  readonly events: number;
  /** How often each kind of fault, and of thing worth counting, has happened. */
  readonly tally: Map<string, number>;
  readonly lines: readonly string[];
  readonly traceHash: number;
  process(name: string): Process;
  kill(process: Process): void;
  pause(process: Process, ms: number): void;
  /** Ends a pause: what it has put off happens now, in its order and before later events. */
  resume(process: Process): void;
  /** Runs `run` after `ms`, unless its owner is dead by then; returns what prevents it. */
  after(ms: number, owner: Process | null, run: () => void): () => void;
  every(ms: number, owner: Process, run: () => void): () => void;
  /** Runs `run` at the end of this event, behind all promises. */
  afterTurn(owner: Process, run: () => void): void;
  count(kind: string, by?: number): void;
  trace(line: string): void;
  fail(message: string): never;
  /** Runs all events up to a time; `check` after each. Throws a `Violation`. */
  run(untilMs: number, check: () => void): Promise<void>;
}

const linesKept = 80;
/** Fifty times what a seed takes. */
const eventsMax = 200_000;

export function createWorld(seed: number): World {
  const random = createRandom(seed);
  const queue = new EventQueue<Event>();
  const turnEnds: { readonly owner: Process; readonly run: () => void }[] = [];
  const lines: string[] = [];
  const tally = new Map<string, number>();
  let nowMs = 0;
  let order = 0;
  let events = 0;
  let traceHash = 0x811c9dc5;
  let failed: Violation | null = null;

  function after(ms: number, owner: Process | null, run: () => void): () => void {
    const event: Event = {
      atMs: nowMs + ms,
      order: ++order,
      owner,
      run,
      cancelled: false,
      putOff: false,
    };
    queue.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  function kill(process: Process): void {
    if (!process.alive) return;
    process.alive = false;
    trace(`${process.name} is dead`);
    for (const run of process.onDeath.splice(0)) run();
  }

  function trace(line: string): void {
    const text = `${nowMs.toFixed(3)} ${line}`;
    for (let i = 0; i < text.length; i++)
      traceHash = Math.imul(traceHash ^ text.charCodeAt(i), 0x01000193);
    lines.push(text);
    if (lines.length > 2 * linesKept) lines.splice(0, linesKept);
  }

  async function happen({ owner, run }: Event): Promise<void> {
    events++;
    run();
    await allPromises();
    if (owner?.doomed) kill(owner);
    while (turnEnds.length > 0) {
      for (const end of turnEnds.splice(0)) if (end.owner.alive) end.run();
      await allPromises();
    }
  }

  return {
    random,
    get nowMs() {
      return nowMs;
    },
    get events() {
      return events;
    },
    tally,
    get lines() {
      return lines.slice(-linesKept);
    },
    get traceHash() {
      return traceHash >>> 0;
    },
    process: (name) => ({ name, alive: true, pausedUntilMs: 0, doomed: false, onDeath: [] }),
    kill,
    pause(process, ms) {
      process.pausedUntilMs = Math.max(process.pausedUntilMs, nowMs + ms);
    },
    resume(process) {
      process.pausedUntilMs = Math.min(process.pausedUntilMs, nowMs);
      for (const event of queue.takeAll())
        queue.push(
          event.putOff && event.owner === process
            ? Object.assign(event, { atMs: nowMs, putOff: false })
            : event,
        );
    },
    after,
    every(ms, owner, run) {
      let cancel = (): void => {};
      const again = (): void => {
        cancel = after(ms, owner, () => {
          again();
          run();
        });
      };
      again();
      return () => cancel();
    },
    afterTurn: (owner, run) => void turnEnds.push({ owner, run }),
    count: (kind, by = 1) => void tally.set(kind, (tally.get(kind) ?? 0) + by),
    trace,
    fail(message) {
      // Kept, because the caller may catch what is thrown.
      failed ??= new Violation(message);
      throw failed;
    },
    async run(untilMs, check) {
      // What is thrown where no caller waits for it: in a promise of a step, in a microtask.
      const rejected: unknown[] = [];
      const onRejection = (reason: unknown): void => void rejected.push(reason);
      process.on("unhandledRejection", onRejection);
      process.on("uncaughtException", onRejection);
      try {
        for (;;) {
          const event = queue.first;
          if (event === undefined || event.atMs > untilMs) break;
          if (events > eventsMax)
            throw new Violation(`it isn't at rest within ${eventsMax} events`);
          queue.pop();
          nowMs = event.atMs;
          const { owner } = event;
          if (event.cancelled || owner?.alive === false) continue;
          if (owner !== null && owner.pausedUntilMs > nowMs) {
            // As the same event, so that it can still be cancelled, and before later ones.
            queue.push(Object.assign(event, { atMs: owner.pausedUntilMs, putOff: true }));
            continue;
          }
          await happen(event);
          if (failed !== null) throw failed;
          if (rejected.length > 0) throw rejected[0];
          check();
        }
        nowMs = untilMs;
      } finally {
        process.off("unhandledRejection", onRejection);
        process.off("uncaughtException", onRejection);
      }
    },
  };
}

/**
 * By the event loop's next turn every promise that can go on has gone on; nothing else waits there.
 */
function allPromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
