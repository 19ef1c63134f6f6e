/**
 * A stream that hard caps count: it flows while the daemon grants output, waits for a grant, or
 * ends at its cap. A request that no hard cap counts has none.
 *
 * Not here: how much is granted (`hard-caps/output-allowance.ts`), and the end of the stream in the
 * client's dialect (`hard-caps/length-stop.ts`).
 */

import { EventPieces } from "../hard-caps/event-pieces.js";
import type { StreamCap } from "../hard-caps/output-allowance.js";
import type { MeteredUsage } from "../usage/count-usage.js";
import type { ResponseMeter, Translated } from "../usage/response-meter.js";

/** The call whose answer is the stream. */
interface CappedCall {
  readonly meter: ResponseMeter;
  readonly ended: boolean;
  /** Passes an event on; `CappedStream.count` is called with it. */
  pass(event: Buffer): void;
  onEnd(): void;
  pauseCall(): void;
  resumeCall(): void;
  /** Resumes it, unless the client must read first. */
  flowOn(): void;
  /** Ends the answer; does nothing after its end. */
  cutAtCap(stream: CappedStream): void;
  onBug(error: unknown): void;
}

/** What the client may get next. */
interface Arrived {
  /** An event, or a part of one; what one event became, maybe nothing, if it was translated. */
  readonly event: Buffer;
  /** What the provider had put out until then, if it was translated. */
  readonly translated: Translated | null;
}

export class CappedStream {
  readonly cap: StreamCap;
  readonly #call: CappedCall;
  /** Whether it waits for a grant. */
  isWaiting = false;
  /** Whether it has reached its cap: what still arrives is counted, but not passed on. */
  isOver = false;
  /** The limit that has ended it, in words. */
  words = "";
  #onGranted: (() => void) | null = null;
  /** Splits a stream that isn't translated: one event of the provider's may become several. */
  readonly #pieces = new EventPieces();
  /** What has arrived, and waits for a grant. */
  readonly #waiting: Arrived[] = [];
  /** What the provider had put out with the last event that was passed on. */
  #translated: Translated | null = null;
  /** Whether all of the stream has arrived. */
  #isEndHeld = false;

  constructor(cap: StreamCap, call: CappedCall) {
    this.cap = cap;
    this.#call = call;
  }

  /**
   * Passes on what has arrived, and may pause or end after any event: `chunk` holds what one event
   * became that was translated, or else any number of events.
   */
  push(chunk: Buffer): void {
    const { translation } = this.#call.meter;
    if (translation !== null) {
      const { usage, textSinceUnsent = 0 } = translation;
      return this.#take(chunk, { usage, textSinceUnsent });
    }
    const { allowance, bytesPerToken } = this.cap;
    // None of its events can be the one after which the stream waits.
    const tokensMax = chunk.length / bytesPerToken;
    if (tokensMax > 0 && !this.isWaiting && allowance.covers(tokensMax))
      return this.#take(this.#pieces.whole(chunk), null);
    for (const event of this.#pieces.split(chunk)) if (!this.#call.ended) this.#take(event, null);
  }

  #take(event: Buffer, translated: Translated | null): void {
    if (this.isWaiting) return void this.#waiting.push({ event, translated });
    if (this.isOver) return this.#meterOnly({ event, translated });
    if (event.length > 0) {
      this.#translated = translated;
      return this.#call.pass(event);
    }
    this.#meterOnly({ event, translated });
    // A usage without an event for the client comes at the end, which must still pass.
    const { textSinceUnsent } = translated!;
    this.#translated = { usage: this.#translated?.usage, textSinceUnsent };
    this.#flowOrEnd();
  }

  #meterOnly({ event, translated }: Arrived): void {
    const { meter } = this.#call;
    if (event.length > 0) meter.push(event);
    else meter.noteUnsent(translated!);
  }

  #passHeld(): void {
    while (!this.isWaiting && !this.#call.ended && this.#waiting.length > 0) {
      const { event, translated } = this.#waiting.shift()!;
      this.#take(event, translated);
    }
  }

  /** Call it when all has arrived: whether the end waits for a grant, too. */
  holdsEnd(): boolean {
    if (this.#waiting.length === 0) return false;
    this.#isEndHeld = true;
    return true;
  }

  /** Counts what waits for a grant, but doesn't pass it on. */
  countHeld(): void {
    for (const arrived of this.#waiting.splice(0)) this.#meterOnly(arrived);
  }

  /**
   * Counts events that were passed on, and lets the stream flow, wait or end. `chunk`: the piece
   * that completed them.
   */
  count(events: Buffer | readonly Buffer[] | null, chunk: Buffer): void {
    if (this.isOver) return;
    const { stop } = this.cap;
    const { passed, latin1 } = this.#call.meter;
    // The meter has decoded the chunk already.
    if (events === chunk) stop?.see(chunk, passed, latin1);
    else if (events !== null)
      stop?.see(Buffer.isBuffer(events) ? events : Buffer.concat(events), passed);
    this.#flowOrEnd();
  }

  #flowOrEnd(): void {
    const { allowance } = this.cap;
    const { meter } = this.#call;
    const tokens = meter.outputSeen(this.#translated);
    if (meter.inputSeen > 0) allowance.promptCounted(meter.inputSeen);
    this.#onGranted ??= () => this.#granted();
    const flows = allowance.use(tokens, this.#onGranted);
    // What follows the end of the answer, or ends an event that has begun, costs nothing more.
    if (flows || meter.isFinished || meter.errorSeen || !meter.isBetweenEvents) return;
    if (allowance.cap !== null) return this.#endAtCap(allowance.cap);
    this.isWaiting = true;
    this.#call.pauseCall();
  }

  #granted(): void {
    this.isWaiting = false;
    if (this.#call.ended) return;
    try {
      this.#flowOrEnd();
      this.#passHeld();
    } catch (error) {
      return this.#call.onBug(error);
    }
    if (this.isWaiting || this.#call.ended) return;
    if (this.#isEndHeld) this.#call.onEnd();
    else this.#call.flowOn();
  }

  /**
   * What the provider has sent meanwhile is billed, so it is charged: it is read, in two turns of
   * the event loop, but not passed on.
   */
  #endAtCap(words: string): void {
    this.words = words;
    this.isOver = true;
    this.#passHeld();
    this.#call.resumeCall();
    setImmediate(() => void setImmediate(() => this.#call.cutAtCap(this)));
  }

  /** The answer has ended with this usage. */
  end({ usage, estimated }: Pick<MeteredUsage, "usage" | "estimated">): void {
    this.cap.allowance.end();
    const { textBytes, hasOtherText } = this.#call.meter;
    if (usage !== null && !estimated) this.cap.learnPrompt(usage.inputTokens);
    // An answer whose text wasn't all counted says nothing about the bytes of a token.
    if (usage !== null && !estimated && textBytes > 0 && !hasOtherText)
      this.cap.learn(textBytes, usage.outputTokens);
  }
}
