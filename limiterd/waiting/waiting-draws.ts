/**
 * Draws that wait (`docs/hard-caps.md`). By a draw a running stream asks for more output under a
 * hard cap. If the cap has nothing left because other running requests hold the rest, the draw
 * waits a moment: most requests give some of it back, since they hold more for their prompt than
 * they use. If none does, or if all requests on the cap wait, one draw is answered with nothing:
 * its stream ends, and what it held goes to the others. Not here: the judgement
 * (`handlers/hold-output.ts`).
 */
import { drawWaitMsMax } from "../../shared/bounds.js";
import { drawsWaitingMax } from "../bounds.js";
import type { Held } from "../counters/held.js";
import type { PeerState } from "../peer.js";

/** How often the draws that wait are judged again, in ms. */
export const drawTickMs = 10;
/** How long a draw waits until one stream ends, in ms; a reader barely notices the pause. */
const idleMs = 200;
/** The time that an ending stream has to settle before another one ends, in ms. */
const endMs = 100;

interface WaitingDraw {
  readonly peer: PeerState;
  readonly lease: number;
  /** The cap that has nothing left. */
  readonly held: Held;
  readonly child: string;
  readonly sinceMs: number;
  /** Judges it again; it is answered, or added again unless it is the last time. */
  readonly judge: (draw: Pick<WaitingDraw, "sinceMs">, isLast: boolean) => void;
}

/** A stream that ends because its draw was answered with nothing. */
interface EndingStream extends Omit<WaitingDraw, "sinceMs" | "judge"> {
  readonly untilMs: number;
}

interface WaitingPorts {
  monoMs(): number;
  /** Runs `run` once after `ms`. */
  schedule(ms: number, run: () => void): void;
}

export class WaitingDraws {
  readonly #ports: WaitingPorts;
  #draws: WaitingDraw[] = [];
  #ending: readonly EndingStream[] = [];
  #isScheduled = false;

  constructor(ports: WaitingPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#draws.length;
  }

  /**
   * `before`: the same draw, if it waited before; it keeps its time. False: the draw must be
   * answered now.
   */
  add(draw: Omit<WaitingDraw, "sinceMs">, before: Pick<WaitingDraw, "sinceMs"> | null): boolean {
    const { peer, lease } = draw;
    const isSame = (other: Pick<WaitingDraw, "peer" | "lease">): boolean =>
      other.peer === peer && other.lease === lease;
    if (this.#ending.some(isSame) || this.#draws.length >= drawsWaitingMax) return false;
    const sinceMs = before?.sinceMs ?? this.#ports.monoMs();
    this.#draws = this.#draws.filter((other) => !isSame(other));
    this.#draws.push({ ...draw, sinceMs });
    this.#schedule();
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(drawTickMs, () => {
      this.#isScheduled = false;
      this.#tick();
      if (this.#draws.length > 0) this.#schedule();
    });
  }

  #tick(): void {
    const nowMs = this.#ports.monoMs();
    this.#ending = this.#ending.filter(
      ({ peer, lease, untilMs }) => nowMs < untilMs && peer.leases.get(lease) !== undefined,
    );
    const draws = this.#draws;
    this.#draws = [];
    for (const draw of draws) draw.judge(draw, nowMs - draw.sinceMs >= drawWaitMsMax);
    for (const draw of this.#firstOfEach()) this.#endOne(draw, nowMs);
  }

  /** The draw of each cap that has waited longest. */
  #firstOfEach(): readonly WaitingDraw[] {
    return this.#draws.filter((draw, i) => this.#draws.findIndex(isOfCap(draw)) === i);
  }

  #endOne(draw: WaitingDraw, nowMs: number): void {
    const { peer, lease, held, child, sinceMs, judge } = draw;
    if (this.#ending.some(isOfCap(draw))) return;
    const waiting = this.#draws.filter(isOfCap(draw)).length;
    if (waiting < held.requestsOf(child) && nowMs - sinceMs < idleMs) return;
    this.#draws = this.#draws.filter((other) => other !== draw);
    this.#ending = [...this.#ending, { peer, lease, held, child, untilMs: nowMs + endMs }];
    judge(draw, true);
  }
}

type OfCap = Pick<WaitingDraw, "held" | "child">;

function isOfCap({ held, child }: OfCap): (other: OfCap) => boolean {
  return (other) => other.held === held && other.child === child;
}
