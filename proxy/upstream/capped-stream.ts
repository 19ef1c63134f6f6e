/**
 * A stream under hard caps: it continues while the daemon grants output, waits for a grant, or ends
 * at its cap. Only requests that a hard cap counts have one.
 *
 * Not here: the size of grants (`hard-caps/output-allowance.ts`), and the last events in the
 * client's dialect (`hard-caps/length-stop.ts`).
 */

import { EventPieces } from "../hard-caps/event-pieces.js";
import type { StreamCap } from "../hard-caps/output-allowance.js";
import type { MeteredUsage } from "../usage/count-usage.js";
import type { ResponseMeter, Translated } from "../usage/response-meter.js";

/** The call whose answer is the stream. */
interface CappedCall {
  readonly meter: ResponseMeter;
  readonly hasEnded: boolean;
  /** Sends an event to the client; it then calls `CappedStream.count`. */
  passEvent(event: Buffer): void;
  onEnd(): void;
  pauseCall(): void;
  resumeCall(): void;
  /** Resumes the call, unless the client must read first. */
  resumeIfFree(): void;
  /** Ends the answer; does nothing after its end. */
  cutAtCap(stream: CappedStream): void;
  onBug(error: unknown): void;
}

/** The next part of the stream for the client. */
interface Arrived {
  /**
   * An event, or a part of one; for a translated stream the translation of an event, which may be
   * empty.
   */
  readonly event: Buffer;
  /** The provider's output up to this event, if the stream is translated. */
  readonly translated: Translated | null;
}

export class CappedStream {
  readonly cap: StreamCap;
  readonly #call: CappedCall;
  /** Whether it waits for a grant. */
  isWaiting = false;
  /** Whether it has reached its cap: further output is counted, but not sent. */
  isOver = false;
  /** The limit that ended it, in words. */
  words = "";
  #onGranted: (() => void) | null = null;
  /** Splits an untranslated stream, in which a chunk may contain several events. */
  readonly #pieces = new EventPieces();
  /** Parts that have arrived and wait for a grant. */
  readonly #waiting: Arrived[] = [];
  /** The provider's output up to the last event that was sent. */
  #translated: Translated | null = null;
  /** Whether the whole stream has arrived, and its end waits. */
  #isEndHeld = false;

  constructor(cap: StreamCap, call: CappedCall) {
    this.cap = cap;
    this.#call = call;
  }

  /**
   * Sends the parts that arrive, and may wait or end after any event. `chunk`: the translation of
   * one event, or any number of events of an untranslated stream.
   */
  push(chunk: Buffer): void {
    const { translation } = this.#call.meter;
    if (translation !== null) {
      const { usage, textSinceUnsent = 0 } = translation;
      return this.#take(chunk, { usage, textSinceUnsent });
    }
    const { allowance, bytesPerToken } = this.cap;
    // None of its events can exceed the grant.
    const tokensMax = chunk.length / bytesPerToken;
    if (tokensMax > 0 && !this.isWaiting && allowance.covers(tokensMax))
      return this.#take(this.#pieces.asOnePiece(chunk), null);
    for (const event of this.#pieces.split(chunk))
      if (!this.#call.hasEnded) this.#take(event, null);
  }

  #take(event: Buffer, translated: Translated | null): void {
    if (this.isWaiting) return void this.#waiting.push({ event, translated });
    if (this.isOver) return this.#meterOnly({ event, translated });
    if (event.length > 0) {
      this.#translated = translated;
      return this.#call.passEvent(event);
    }
    this.#meterOnly({ event, translated });
    // Usage without an event for the client arrives at the end, which must still be sent.
    const { textSinceUnsent } = translated!;
    this.#translated = { usage: this.#translated?.usage, textSinceUnsent };
    this.#continueOrEnd();
  }

  #meterOnly({ event, translated }: Arrived): void {
    const { meter } = this.#call;
    if (event.length > 0) meter.push(event);
    else meter.noteUnsent(translated!);
  }

  #passHeld(): void {
    while (!this.isWaiting && !this.#call.hasEnded && this.#waiting.length > 0) {
      const { event, translated } = this.#waiting.shift()!;
      this.#take(event, translated);
    }
  }

  /** Whether the end waits for a grant, too. Call it when the whole stream has arrived. */
  holdsEnd(): boolean {
    if (this.#waiting.length === 0) return false;
    this.#isEndHeld = true;
    return true;
  }

  /** Counts the parts that wait for a grant, without sending them. */
  countHeld(): void {
    for (const arrived of this.#waiting.splice(0)) this.#meterOnly(arrived);
  }

  /**
   * Counts events that were sent, and lets the stream continue, wait or end. `chunk`: the piece
   * that completed them.
   */
  count(events: Buffer | readonly Buffer[] | null, chunk: Buffer): void {
    if (this.isOver) return;
    const { stop } = this.cap;
    const { passedText, latin1 } = this.#call.meter;
    // The meter has decoded the chunk already.
    if (events === chunk) stop?.see(chunk, passedText, latin1);
    else if (events !== null)
      stop?.see(Buffer.isBuffer(events) ? events : Buffer.concat(events), passedText);
    this.#continueOrEnd();
  }

  #continueOrEnd(): void {
    const { allowance } = this.cap;
    const { meter } = this.#call;
    const tokens = meter.outputSeen(this.#translated);
    if (meter.inputSeen > 0) allowance.promptCounted(meter.inputSeen);
    this.#onGranted ??= () => this.#granted();
    const mayWrite = allowance.use(tokens, this.#onGranted);
    // Bytes after the end of the answer, or that complete an event, cost nothing more.
    if (mayWrite || meter.isFinished || meter.errorSeen || !meter.isBetweenEvents) return;
    if (allowance.cap !== null) return this.#endAtCap(allowance.cap);
    this.isWaiting = true;
    this.#call.pauseCall();
  }

  #granted(): void {
    this.isWaiting = false;
    if (this.#call.hasEnded) return;
    try {
      this.#continueOrEnd();
      this.#passHeld();
    } catch (error) {
      return this.#call.onBug(error);
    }
    if (this.isWaiting || this.#call.hasEnded) return;
    if (this.#isEndHeld) this.#call.onEnd();
    else this.#call.resumeIfFree();
  }

  /**
   * The provider bills what it has sent meanwhile, so the charge includes it: reads it during two
   * turns of the event loop, without sending it.
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
    // If some text wasn't counted, the answer says nothing about the bytes per token.
    if (usage !== null && !estimated && textBytes > 0 && !hasOtherText)
      this.cap.learn(textBytes, usage.outputTokens);
  }
}
