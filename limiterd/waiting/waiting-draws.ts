/**
 * Draws to which a hard cap gives nothing because of what other running requests hold
 * (`docs/hard-caps.md`). Most of that comes back: a request holds more for its prompt than it uses.
 * So a draw waits a moment for it. If nothing comes, or if all requests on the cap wait, one draw
 * is answered: its stream ends, and the others get what it held. Not here: the judgement
 * (`handlers/hold-output.ts`).
 */
import { drawWaitMsMax } from "../../shared/bounds.js";
import { drawsWaitingMax } from "../bounds.js";
import type { Held } from "../counters/held.js";
import type { PeerState } from "../peer.js";

/** How often the draws that wait are judged again, in ms. */
export const drawTickMs = 10;
/** If nothing comes back for so long, one stream ends: hardly a pause for who reads it. */
const idleMs = 200;
/** Within so long the stream ends and its request is settled; then another one ends. */
const endMs = 100;

interface WaitingDraw {
  readonly peer: PeerState;
  readonly lease: number;
  /** The cap that gives it nothing. */
  readonly held: Held;
  readonly child: string;
  readonly sinceMs: number;
  /** Judges it again; it is answered, or added again unless it is the last time. */
  readonly judge: (draw: Pick<WaitingDraw, "sinceMs">, isLast: boolean) => void;
}

/** A stream to which nothing more was given. */
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

  /** `since`: when it was added before. False: it must be answered now. */
  add(draw: Omit<WaitingDraw, "sinceMs">, since: Pick<WaitingDraw, "sinceMs"> | null): boolean {
    const { peer, lease } = draw;
    const isSame = (other: Pick<WaitingDraw, "peer" | "lease">): boolean =>
      other.peer === peer && other.lease === lease;
    if (this.#ending.some(isSame) || this.#draws.length >= drawsWaitingMax) return false;
    const { sinceMs = this.#ports.monoMs() } = since ?? {};
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
