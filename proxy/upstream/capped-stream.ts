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
import type { ResponseMeter } from "../usage/response-meter.js";

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
  /** What has arrived, and waits for a grant. */
  readonly #rest = new EventPieces();
  /** Whether all of the stream has arrived. */
  #isEndHeld = false;

  constructor(cap: StreamCap, call: CappedCall) {
    this.cap = cap;
    this.#call = call;
  }

  /** Passes on what has arrived, and may pause or end after any event, however many it holds. */
  push(chunk: Buffer): void {
    if (this.isOver) return void this.#call.meter.push(chunk);
    this.#rest.add(chunk);
    this.#passRest();
  }

  #passRest(): void {
    while (!this.isWaiting && !this.#call.ended) {
      const event = this.#rest.next();
      if (event === null) return;
      if (this.isOver) this.#call.meter.push(event);
      else this.#call.pass(event);
    }
  }

  /** Call it when all has arrived: whether the end waits for a grant, too. */
  holdsEnd(): boolean {
    if (this.#rest.isEmpty) return false;
    this.#isEndHeld = true;
    return true;
  }

  /** Counts what waits for a grant, but doesn't pass it on. */
  countRest(): void {
    if (!this.#rest.isEmpty) this.#call.meter.push(this.#rest.takeAll());
  }

  /**
   * Counts events that were passed on, and lets the stream flow, wait or end. `chunk`: the piece
   * that completed them.
   */
  count(events: Buffer | readonly Buffer[] | null, chunk: Buffer): void {
    if (this.isOver) return;
    const { stop } = this.cap;
    // The meter has decoded the chunk already.
    if (events === chunk) stop?.see(chunk, this.#call.meter.latin1);
    else if (Buffer.isBuffer(events)) stop?.see(events);
    else if (events !== null) for (const each of events) stop?.see(each);
    this.#flowOrEnd();
  }

  #flowOrEnd(): void {
    const { allowance } = this.cap;
    const { meter } = this.#call;
    const tokens = meter.outputSeen();
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
      this.#passRest();
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
    this.#passRest();
    this.#call.resumeCall();
    setImmediate(() => void setImmediate(() => this.#call.cutAtCap(this)));
  }

  /** The answer has ended with this usage. */
  end({ usage, estimated }: Pick<MeteredUsage, "usage" | "estimated">): void {
    this.cap.allowance.end();
    const { textBytes, hasOtherText } = this.#call.meter;
    // An answer whose text wasn't all counted says nothing about the bytes of a token.
    if (usage !== null && !estimated && textBytes > 0 && !hasOtherText)
      this.cap.learn(textBytes, usage.outputTokens);
  }
}
