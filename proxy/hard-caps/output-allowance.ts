/**
 * How much output a stream may still give under hard caps. The daemon grants output in chunks,
 * and the proxy asks for the next chunk ahead of need, so that a stream waits only if the answer is
 * late. When the daemon grants no more, the stream uses what it has, and asks
 * once more before it ends: other requests may have given back what they held. Meanwhile the
 * provider goes on sending, and what it sends is billed. The daemon holds one least chunk for that:
 * a question may wait as long as the provider takes for half of it beyond the grant; the other half
 * is for what comes until the call is cancelled.
 *
 * Not here: counting the output (`response-meter.ts`), and ending a stream (`length-stop.ts`).
 */
import {
  drawWaitMsMax,
  outputChunkTokens,
  outputChunkTokensMax,
  outputChunkTokensMin,
} from "../../shared/bounds.js";
import type { LengthStop } from "./length-stop.js";

/** The output tokens of one admission, over all of its attempts. */
export interface DrawnOutput {
  /** What the daemon has granted so far. */
  granted: number;
  /** What earlier attempts have put out. */
  spent: number;
  /**
   * Words for the limit that granted no more when last asked; null if it granted something. Of an
   * answer that isn't streamed, for the one that has lowered its maximum.
   */
  cap: string | null;
  /** At least the tokens of the prompt, until the provider has counted them. */
  promptTokens: number;
  isPromptKnown: boolean;
}

/** What is granted to an answer that isn't cut. */
export interface GrantedOutput {
  readonly tokens: number;
  readonly choices: number;
  /** The hard cap that has lowered the request's maximum, in words; null if none has. */
  readonly loweredBy: string | null;
}

export interface WantedOutput {
  /** The tokens of output in all, earlier attempts included. */
  readonly total: number;
  /** How long the question may wait for what other requests hold. */
  readonly waitMs: number;
}

interface AllowancePorts {
  /** Asks for a higher grant; `then` runs once, after `DrawnOutput` has the answer. */
  draw(wanted: WantedOutput, then: () => void): void;
  monoMs(): number;
}

/** The hard caps on one stream. */
export interface StreamCap {
  readonly allowance: OutputAllowance;
  /** Null if the dialect has no end for this; then the connection is cut. */
  readonly stop: LengthStop | null;
  /** How many bytes of text count as a token unless the provider reports its count. */
  readonly bytesPerToken: number;
  /** Called with the text and the reported output of a complete stream. */
  readonly learn: (textBytes: number, outputTokens: number) => void;
  /** As its prompt counts unless the provider reports its tokens: four bytes a token. */
  readonly promptBytes: () => number;
  /** Called with the reported tokens of the prompt. */
  readonly learnPrompt: (tokens: number) => void;
}

/** A chunk is asked for when this part of it is left: a stream has hardly to wait for it. */
const aheadDivisor = 4;

export class OutputAllowance {
  readonly #drawn: DrawnOutput;
  readonly #ports: AllowancePorts;
  /** When the attempt's output began; NaN before. */
  #begunMonoMs = Number.NaN;
  #chunk = outputChunkTokens;
  /** Near a cap it is less than was asked for. */
  #lastGrant: number;
  #used: number;
  /** The daemon granted nothing after all was used. */
  #isOver = false;
  #isAsking = false;
  #onGranted: (() => void) | null = null;

  constructor(drawn: DrawnOutput, ports: AllowancePorts) {
    this.#drawn = drawn;
    this.#ports = ports;
    this.#used = drawn.spent;
    this.#lastGrant = drawn.granted - drawn.spent;
  }

  /** Words for the limit that ends the stream; null if it may go on, or must wait. */
  get cap(): string | null {
    return this.#isOver ? this.#drawn.cap : null;
  }

  /** Whether so many tokens more than were noted are granted. */
  covers(tokens: number): boolean {
    return this.#used + tokens < this.#drawn.granted;
  }

  /**
   * Notes the output of this attempt so far. Returns whether the stream may flow on; if not, either
   * `cap` says why it ends, or `onGranted` runs once it is known.
   */
  use(tokens: number, onGranted: () => void): boolean {
    const { granted, spent, cap } = this.#drawn;
    if (Number.isNaN(this.#begunMonoMs)) this.#begunMonoMs = this.#ports.monoMs();
    this.#used = spent + tokens;
    const ahead = cap === null ? Math.min(this.#chunk / aheadDivisor, this.#lastGrant / 2) : 0;
    if (!this.#isOver && !this.#isAsking && this.#used + ahead >= granted) this.#ask();
    // A daemon in this process may have answered already.
    if (this.#used < this.#drawn.granted) return true;
    if (this.#isOver) return false;
    this.#chunk = Math.min(this.#chunk * 2, outputChunkTokensMax);
    this.#onGranted = onGranted;
    return false;
  }

  #ask(): void {
    this.#isAsking = true;
    const { granted } = this.#drawn;
    const total = Math.max(this.#used, granted) + this.#chunk;
    this.#ports.draw({ total, waitMs: this.#waitMs() }, () => {
      this.#isAsking = false;
      const added = this.#drawn.granted - granted;
      this.#lastGrant = added;
      if (added <= 0) {
        this.#drawn.cap ??= "a hard limit";
        this.#isOver = this.#used >= granted;
      }
      const run = this.#onGranted;
      this.#onGranted = null;
      run?.();
    });
  }

  #waitMs(): number {
    const { granted, spent } = this.#drawn;
    const left = Math.max(0, granted + outputChunkTokensMin / 2 - this.#used);
    const elapsedMs = this.#ports.monoMs() - this.#begunMonoMs;
    return Math.min(
      drawWaitMsMax,
      Math.floor((left * elapsedMs) / Math.max(1, this.#used - spent)),
    );
  }

  /** The provider has counted the prompt. Earlier attempts had one each, which isn't known. */
  promptCounted(tokens: number): void {
    if (this.#drawn.isPromptKnown || this.#drawn.spent > 0) return;
    this.#drawn.promptTokens = tokens;
    this.#drawn.isPromptKnown = true;
  }

  /** The attempt has ended: a later one goes on from here. */
  end(): void {
    this.#drawn.spent = this.#used;
    this.#onGranted = null;
  }
}
