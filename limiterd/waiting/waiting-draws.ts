/**
 * Draws that wait (`docs/hard-caps.md`). By a draw a running stream asks for more output under a
 * hard cap. If the cap has nothing left because other running requests hold the rest, the draw
 * waits a moment: most requests give some of it back, since they hold more for their prompt than
 * they use. It waits in a queue of the cap, or of its child's share in the cap: first come, first
 * served. If no request gives anything back, or if all requests on the cap wait, one draw is
 * answered with nothing: its stream ends, and what it held goes to the others. Not here: the
 * judgement (`handlers/hold-output.ts`).
 */
import { drawsWaitingMax } from "../bounds.js";
import type { Held } from "../counters/held.js";
import type { PeerState } from "../peer.js";

/** How often the first draw of each queue is judged again, in ms. */
export const drawTickMs = 10;
/** How long a draw waits until one stream ends, in ms; a reader barely notices the pause. */
const idleMs = 100;
/** The time that an ending stream has to settle before another one ends, in ms. */
const endMs = 100;

/**
 * What a judgement did with a draw. `refused`: it was added again, unless it is the last time.
 * `asking`: it asks other hosts, and is added again or answered later.
 */
export type Judged = "answered" | "refused" | "asking";

interface WaitingDraw {
  readonly peer: PeerState;
  readonly lease: number;
  /** What requests hold of the cap that has nothing left, and the child whose cap it is. */
  readonly held: Held;
  readonly child: string;
  /** The child whose share of the cap has nothing left; null: the whole cap. */
  readonly share: string | null;
  /** How long it may wait. */
  readonly waitMs: number;
  /** Judges it again; `isLast`: it can't wait any longer. */
  readonly judge: (waited: Waited, isLast: boolean) => Judged;
}

/** A draw that has waited before. */
export interface Waited {
  readonly sinceMs: number;
}

interface Entry extends Waited {
  draw: WaitingDraw;
  /** Null while other hosts are asked. */
  queue: Queue | null;
}

interface Queue {
  readonly cap: CapDraws;
  readonly share: string | null;
  /** In the order in which they are judged. */
  readonly entries: Set<Entry>;
}

/** All draws that wait for one cap. */
interface CapDraws {
  readonly held: Held;
  readonly child: string;
  readonly queues: Map<string | null, Queue>;
  readonly entries: Set<Entry>;
  /** The stream that ends because its draw was answered with nothing. */
  ending: { readonly peer: PeerState; readonly lease: number; readonly untilMs: number } | null;
}

interface WaitingPorts {
  monoMs(): number;
  /** Runs `run` once after `ms`. */
  schedule(ms: number, run: () => void): void;
}

export class WaitingDraws {
  readonly #ports: WaitingPorts;
  readonly #entries = new Set<Entry>();
  readonly #byPeer = new Map<PeerState, Map<number, Entry>>();
  readonly #caps = new Map<Held, Map<string, CapDraws>>();
  #isScheduled = false;

  constructor(ports: WaitingPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Adds a draw, or keeps it at its place if the same cap refuses it again. `waited`: since when it
   * was added before. Returns false if too many wait: the draw must be answered now.
   */
  add(draw: WaitingDraw, waited: Waited | null): boolean {
    const { peer, lease } = draw;
    const existing = this.#byPeer.get(peer)?.get(lease);
    if (existing === undefined && this.#entries.size >= drawsWaitingMax) return false;
    const cap = this.#capOf(draw);
    if (cap.ending?.peer === peer && cap.ending.lease === lease) return false;
    const { sinceMs = this.#ports.monoMs() } = waited ?? {};
    const entry = existing ?? { draw, sinceMs, queue: null };
    entry.draw = draw;
    if (existing === undefined) this.#addEntry(entry);
    this.#join(entry, cap);
    this.#schedule();
    return true;
  }

  #addEntry(entry: Entry): void {
    const { peer, lease } = entry.draw;
    this.#entries.add(entry);
    const ofPeer = this.#byPeer.get(peer) ?? new Map<number, Entry>();
    this.#byPeer.set(peer, ofPeer.set(lease, entry));
  }

  #capOf({ held, child }: WaitingDraw): CapDraws {
    const children = this.#caps.get(held) ?? new Map<string, CapDraws>();
    this.#caps.set(held, children);
    const existing = children.get(child);
    if (existing !== undefined) return existing;
    const cap = { held, child, queues: new Map(), entries: new Set<Entry>(), ending: null };
    children.set(child, cap);
    return cap;
  }

  #join(entry: Entry, cap: CapDraws): void {
    const { share } = entry.draw;
    if (entry.queue?.cap === cap && entry.queue.share === share) return;
    this.#leaveQueue(entry);
    const queue = cap.queues.get(share) ?? { cap, share, entries: new Set<Entry>() };
    cap.queues.set(share, queue);
    queue.entries.add(entry);
    cap.entries.add(entry);
    entry.queue = queue;
  }

  #leaveQueue(entry: Entry): void {
    const { queue } = entry;
    if (queue === null) return;
    queue.entries.delete(entry);
    queue.cap.entries.delete(entry);
    if (queue.entries.size === 0) queue.cap.queues.delete(queue.share);
    entry.queue = null;
  }

  #remove(entry: Entry): void {
    const { peer, lease } = entry.draw;
    this.#leaveQueue(entry);
    this.#entries.delete(entry);
    const ofPeer = this.#byPeer.get(peer);
    ofPeer?.delete(lease);
    if (ofPeer?.size === 0) this.#byPeer.delete(peer);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(drawTickMs, () => {
      this.#isScheduled = false;
      this.#tick(this.#ports.monoMs());
      if (this.#entries.size > 0) this.#schedule();
    });
  }

  #tick(nowMs: number): void {
    // What its provider sends until the next tick may be more than the stream holds.
    for (const entry of this.#entries)
      if (nowMs + drawTickMs - entry.sinceMs > entry.draw.waitMs) this.#answer(entry);
    for (const [held, children] of this.#caps) {
      for (const [child, cap] of children) {
        for (const queue of cap.queues.values()) this.#judgeQueue(queue);
        this.#endOne(cap, nowMs);
        if (cap.entries.size === 0 && cap.ending === null) children.delete(child);
      }
      if (children.size === 0) this.#caps.delete(held);
    }
  }

  /** Judges the first draw, and the next one each time that it leaves the queue. */
  #judgeQueue(queue: Queue): void {
    for (const entry of queue.entries) {
      const judged = entry.draw.judge(entry, false);
      if (judged !== "refused") this.#remove(entry);
      if (judged === "asking" || entry.queue === queue) return;
    }
  }

  #answer(entry: Entry): void {
    this.#remove(entry);
    entry.draw.judge(entry, true);
  }

  #endOne(cap: CapDraws, nowMs: number): void {
    const { ending, held, child } = cap;
    if (ending !== null) {
      if (nowMs < ending.untilMs && isRunning(ending)) return;
      cap.ending = null;
    }
    const allWait = (): boolean => cap.entries.size >= held.requestsOf(child);
    // The requests of some draws may have ended.
    if (allWait()) for (const entry of cap.entries) if (!isRunning(entry.draw)) this.#remove(entry);
    const [first] = cap.entries;
    if (first === undefined || (!allWait() && nowMs - first.sinceMs < idleMs)) return;
    const { peer, lease } = first.draw;
    cap.ending = { peer, lease, untilMs: nowMs + endMs };
    this.#answer(first);
  }
}

function isRunning({ peer, lease }: Pick<WaitingDraw, "peer" | "lease">): boolean {
  return peer.leases.get(lease) !== undefined;
}
