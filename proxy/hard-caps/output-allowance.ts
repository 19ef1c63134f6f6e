/**
 * How much output a stream may still produce under hard caps. The daemon grants output in chunks.
 * The proxy requests the next chunk early, so that a stream waits only if the answer is late. When
 * the daemon grants no more, the stream uses up its grant and asks once more before it ends: other
 * requests may have returned tokens. Meanwhile the provider keeps sending, and this output is
 * billed, too. For that the daemon reserves the smallest chunk: half of it covers the output during
 * the last question, which waits no longer than that; the other half covers the output until the
 * call is cancelled.
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
  /** The tokens that the daemon has granted so far. */
  granted: number;
  /** The tokens that earlier attempts have used. */
  spent: number;
  /**
   * The limit that granted no more at the last request, in words; null if tokens were granted. For
   * an answer that isn't streamed: the limit that lowered its maximum.
   */
  cap: string | null;
  /** At least the tokens of the prompt, until the provider has counted them. */
  promptTokens: number;
  isPromptKnown: boolean;
}

/** The output that is granted to an answer that can't be cut. */
export interface GrantedOutput {
  readonly tokens: number;
  readonly choices: number;
  /** The hard cap that lowered the request's maximum, in words; null if none did. */
  readonly loweredBy: string | null;
}

export interface WantedOutput {
  /** The requested tokens in total, earlier attempts included. */
  readonly total: number;
  /** How long the request may wait for tokens that other requests hold. */
  readonly waitMs: number;
}

interface AllowancePorts {
  /** Requests a higher grant. `then` runs once, after `DrawnOutput` has the answer. */
  draw(wanted: WantedOutput, then: () => void): void;
  monoMs(): number;
}

/** The hard caps on a stream. */
export interface StreamCap {
  readonly allowance: OutputAllowance;
  /** Null if the dialect has no events for this end; then the connection is cut. */
  readonly stop: LengthStop | null;
  /** How many bytes of text count as one token until the provider reports its count. */
  readonly bytesPerToken: number;
  /** Called with the text and the reported output of a complete stream. */
  readonly learn: (textBytes: number, outputTokens: number) => void;
  /** The estimated size of the prompt until the provider reports its tokens: four bytes a token. */
  readonly promptBytes: () => number;
  /** Called with the reported tokens of the prompt. */
  readonly learnPrompt: (tokens: number) => void;
}

/**
 * The next chunk is requested when this fraction of the last one is left, so that a stream rarely
 * waits.
 */
const aheadDivisor = 4;

export class OutputAllowance {
  readonly #drawn: DrawnOutput;
  readonly #ports: AllowancePorts;
  /** When the attempt's output began; NaN before. */
  #begunMonoMs = Number.NaN;
  #chunk = outputChunkTokens;
  /** Close to a cap, a grant is smaller than the request. */
  #lastGrant: number;
  #used: number;
  /** Whether the daemon granted nothing after all tokens were used. */
  #isOver = false;
  #isAsking = false;
  #onGranted: (() => void) | null = null;

  constructor(drawn: DrawnOutput, ports: AllowancePorts) {
    this.#drawn = drawn;
    this.#ports = ports;
    this.#used = drawn.spent;
    this.#lastGrant = drawn.granted - drawn.spent;
  }

  /** The limit that ends the stream, in words; null if the stream may continue, or must wait. */
  get cap(): string | null {
    return this.#isOver ? this.#drawn.cap : null;
  }

  /** Whether the grant covers this many tokens more than were noted. */
  covers(tokens: number): boolean {
    return this.#used + tokens < this.#drawn.granted;
  }

  /**
   * Notes the output of this attempt so far. Returns whether the stream may continue. If not, `cap`
   * is the reason to end it, or `onGranted` runs once the answer has arrived.
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
    const remaining = Math.max(0, granted + outputChunkTokensMin / 2 - this.#used);
    const elapsedMs = this.#ports.monoMs() - this.#begunMonoMs;
    return Math.min(
      drawWaitMsMax,
      Math.floor((remaining * elapsedMs) / Math.max(1, this.#used - spent)),
    );
  }

  /** Notes the provider's count of the prompt. The counts of earlier attempts are unknown. */
  promptCounted(tokens: number): void {
    if (this.#drawn.isPromptKnown || this.#drawn.spent > 0) return;
    this.#drawn.promptTokens = tokens;
    this.#drawn.isPromptKnown = true;
  }

  /** Ends the attempt; a later one continues from its count. */
  end(): void {
    this.#drawn.spent = this.#used;
    this.#onGranted = null;
  }
}
