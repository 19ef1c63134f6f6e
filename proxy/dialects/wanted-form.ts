/**
 * Wraps an upstream so that its answers have the requested form, and declare it correctly. Some
 * hosts always stream (BYK/loreai#605); others, and relays before them, label a stream plain text
 * or JSON (maximhq/bifrost#3928). A plain answer to a request for a stream passes: translations
 * handle it.
 *
 * Not here: joining events to an answer (`whole-answer.ts`).
 */
import { heldPieceBytes, readableResponseBytesMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { writeExactly } from "../body/exact-json.js";
import type { AnswerMemory } from "../capacity/memory-ledger.js";
import { headerOf, withContentType } from "../http/copy-headers.js";
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type { Upstream, UpstreamCall, UpstreamSink } from "../upstream/upstream.js";
import { EventSplitter } from "./event-stream.js";
import { wholeAnswer } from "./whole-answer.js";

type RawHeaders = readonly (Buffer | string)[];

interface WantedForm {
  /** The provider's operation, with a whole answer. */
  readonly operation: Operation;
  readonly wantsStream: boolean;
  readonly memory: AnswerMemory;
}

export function inWantedForm(upstream: Upstream, form: WantedForm): Upstream {
  return {
    ...upstream,
    send(request, sink) {
      const forming = new FormingSink(sink, form);
      const call = upstream.send(request, forming);
      forming.call = call;
      return call;
    },
  };
}

const eventStream = "text/event-stream";
/** The beginning of an event in Latin-1; the answer may begin with a byte order mark. */
const beginsEvent = /^(?:\u00ef\u00bb\u00bf)?\s*(?::|(?:data|event|id|retry)\s?:)/;
/** Enough for the name of a field. */
const beginningBytes = 16;

class FormingSink implements UpstreamSink {
  call: UpstreamCall | null = null;
  readonly #sink: UpstreamSink;
  readonly #form: WantedForm;
  /** The head of an answer whose form isn't known yet. */
  #head: { readonly status: number; readonly rawHeaders: RawHeaders } | null = null;
  /** The bytes of an answer of unknown form, or of a stream that is joined; null if bytes pass. */
  #held: Buffer[] | null = null;
  #heldBytes = 0;
  /** The memory taken for a stream that is joined. */
  #takenBytes = 0;
  /** Whether the answer is a stream whose events are joined. */
  #joinsEvents = false;
  #isComplete = false;

  constructor(sink: UpstreamSink, form: WantedForm) {
    this.#sink = sink;
    this.#form = form;
  }

  onHead(status: number, rawHeaders: RawHeaders): void {
    const type = headerOf(rawHeaders, "content-type").toLowerCase();
    const isStream = type.startsWith(eventStream);
    if (status >= 300 || (isStream && this.#form.wantsStream))
      return this.#sink.onHead(status, rawHeaders);
    this.#head = { status, rawHeaders };
    this.#held = [];
    this.#joinsEvents = isStream;
  }

  onData(chunk: Buffer): void {
    if (this.#held === null) return this.#sink.onData(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (!this.#joinsEvents) this.#recognize();
    else if (this.#heldBytes > readableResponseBytesMax)
      this.#refuse(`a stream larger than ${readableResponseBytesMax} bytes can't be put together`);
    else if (!this.#take(chunk.length + heldPieceBytes))
      this.#refuse("there is no memory for the stream, to put it together");
  }

  #take(bytes: number): boolean {
    if (!this.#form.memory.takeForAnswer(bytes)) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** The held bytes, which the caller now owns. */
  #takeHeld(): readonly Buffer[] {
    const pieces = this.#held ?? [];
    this.#held = null;
    this.#form.memory.give(this.#takenBytes);
    this.#takenBytes = 0;
    return pieces;
  }

  #recognize(): void {
    const beginning = Buffer.concat(this.#held ?? []).toString("latin1");
    const isStream = beginsEvent.test(beginning);
    const mayBeMore = !this.#isComplete && this.#heldBytes < beginningBytes;
    if (!isStream && mayBeMore && !/^\s*[[{<]/.test(beginning)) return;
    if (!isStream || this.#form.wantsStream) return this.#release(isStream ? eventStream : null);
    this.#joinsEvents = true;
  }

  #release(contentType: string | null): void {
    if (this.#head === null || this.#held === null) return;
    const { status, rawHeaders } = this.#head;
    const pieces = this.#takeHeld();
    this.#sink.onHead(
      status,
      contentType === null ? rawHeaders : withContentType(rawHeaders, contentType),
    );
    for (const chunk of pieces) this.#sink.onData(chunk);
  }

  #refuse(reason: string): void {
    this.call?.abort();
    this.#takeHeld();
    this.#sink.onHead(this.#head!.status, withContentType(this.#head!.rawHeaders, eventStream));
    this.#sink.onFailure({ kind: "broken", reason });
  }

  onEnd(): void {
    this.#isComplete = true;
    if (this.#held !== null && !this.#joinsEvents) this.#recognize();
    if (this.#held !== null && this.#joinsEvents) this.#assemble(this.#held);
    this.#sink.onEnd();
  }

  /**
   * Joins the events of a stream. A stream without an answer passes unchanged: it isn't an answer
   * to this request.
   */
  #assemble(pieces: readonly Buffer[]): void {
    const events = new EventSplitter(readableResponseBytesMax).push(
      Buffer.concat([...pieces, Buffer.from("\n\n")]),
    );
    const answer = wholeAnswer(this.#form.operation, events);
    if (answer !== null) this.#held = [Buffer.from(writeExactly(answer))];
    this.#release("application/json");
  }

  onFailure(failure: UpstreamFailure): void {
    if (!this.#joinsEvents) this.#release(null);
    else if (this.#held !== null) {
      this.#held = [];
      this.#release("application/json");
    }
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#sink.onBug(error);
  }
}
