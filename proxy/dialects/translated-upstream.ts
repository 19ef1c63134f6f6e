/**
 * Wraps an upstream whose provider speaks another dialect than the client: to the caller it is an
 * upstream that speaks the client's dialect. Successful answers are translated as they arrive;
 * errors and failures pass unchanged. If the client requested a stream and the provider answers
 * without one, the answer is sent as a stream. A stream can't be translated to a plain answer.
 *
 * Not here: JSON and events. `translate-answer.ts` has the `AnswerTranslator` that reads them.
 */
import type { Operation } from "../../shared/operation.js";
import { headerOf, withContentType } from "../http/copy-headers.js";
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type {
  Upstream,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from "../upstream/upstream.js";
import { EventReader } from "../usage/event-reader.js";
import type { TranslationReport } from "../usage/response-meter.js";
import { FailedAnswer, UntranslatableAnswer } from "./shared/translation.js";

/**
 * A non-streamed answer after its end. `untouched`: an error, or an invalid answer, as the provider
 * sent it. `events`: the complete stream that the client requested.
 */
export interface TranslatedAnswer {
  readonly form: "answer" | "events" | "untouched";
  readonly bytes: Buffer;
}

/**
 * Translates the bytes of one answer: either `buffer`, then `translateBuffered`, or `push`, then
 * `end` for a stream.
 */
export interface AnswerTranslator extends TranslationReport {
  /**
   * Adds a piece of a non-streamed answer. Throws `UntranslatableAnswer` if the answer is too
   * large.
   */
  buffer(chunk: Buffer): void;
  /** Translates the buffered answer. Throws `UntranslatableAnswer`. */
  translateBuffered(): TranslatedAnswer;
  /** Whether the client requested a stream. */
  readonly wantsStream: boolean;
  /** The content type of a stream for the client. */
  readonly streamType: string;
  /**
   * Translates a piece of a stream. Null if the client gets nothing for it. With `onEvent`, each
   * event of the provider goes to `onEvent`, with its data and its translation, and only the bytes
   * after the last event are returned.
   */
  push(chunk: Buffer, onEvent?: OnEvent | null): Buffer | null;
  /** The last bytes for the client, after the provider's stream has ended normally. */
  end(): Buffer | null;
  /** The stream was invalid, and the client got its last event, an error. */
  readonly hasFailed: boolean;
  /** As in `TranslationReport`; set by the translated upstream. */
  textSinceUnsent?: number;
}

export type OnEvent = (became: string, data: string) => void;

/**
 * `capped`: the provider's operation if hard caps count the stream, or null. Hard caps may end a
 * stream after any event, so the sink then gets a piece for each of the provider's events, an empty
 * one if the translation is empty.
 */
export function translatedUpstream(
  upstream: Upstream,
  translator: AnswerTranslator,
  capped: Operation | null = null,
): Upstream {
  return {
    send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
      const translating = new TranslatingSink(sink, translator, capped);
      const call = upstream.send(request, translating);
      translating.call = call;
      return call;
    },
    redact: (text) => upstream.redact(text),
    close: () => upstream.close(),
  };
}

const empty = Buffer.alloc(0);

class TranslatingSink implements UpstreamSink {
  call: UpstreamCall | null = null;
  readonly #sink: UpstreamSink;
  readonly #translator: AnswerTranslator;
  /** Null unless hard caps count the stream. */
  readonly #onEvent: OnEvent | null;
  /** `untouched`: an error, which passes. */
  #form: "untouched" | "stream" | "buffered" = "untouched";
  #hasFailed = false;
  /**
   * The head of a non-streamed answer to a streaming request. It is sent once it is known whether
   * the answer goes out as a stream.
   */
  #heldHead: { readonly status: number; readonly rawHeaders: readonly (Buffer | string)[] } | null =
    null;

  constructor(sink: UpstreamSink, translator: AnswerTranslator, capped: Operation | null) {
    this.#sink = sink;
    this.#translator = translator;
    this.#onEvent = capped === null ? null : this.#passEvent(new EventReader(capped));
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (status < 300)
      this.#form = headerOf(rawHeaders, "content-type")
        .toLowerCase()
        .startsWith("text/event-stream")
        ? "stream"
        : "buffered";
    const { wantsStream, streamType } = this.#translator;
    if (this.#form === "buffered" && wantsStream) this.#heldHead = { status, rawHeaders };
    else if (this.#form === "stream" && !wantsStream) this.#refuseStream(status, rawHeaders);
    else if (this.#form === "stream" && !streamType.startsWith("text/event-stream"))
      this.#sink.onHead(status, withContentType(rawHeaders, streamType));
    else this.#sink.onHead(status, rawHeaders);
  }

  #refuseStream(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#sink.onHead(status, withContentType(rawHeaders, "application/json"));
    this.#fail({
      kind: "untranslatable",
      reason: "it is a stream of events, but the request didn't ask for a stream",
    });
  }

  #sendHead(isStream: boolean): void {
    if (this.#heldHead === null) return;
    const { status, rawHeaders } = this.#heldHead;
    this.#heldHead = null;
    this.#sink.onHead(
      status,
      isStream ? withContentType(rawHeaders, this.#translator.streamType) : rawHeaders,
    );
  }

  onData(chunk: Buffer): void {
    if (this.#hasFailed) return;
    if (this.#form === "untouched") return this.#sink.onData(chunk);
    if (this.#form === "buffered") return this.#translate(() => this.#buffer(chunk));
    this.#stream(chunk);
  }

  /**
   * Counts text that the client hasn't got. Text that the client got is counted elsewhere, until an
   * event with text has an empty translation.
   */
  #passEvent(reader: EventReader): OnEvent {
    return (became, data) => {
      if (became === "" || reader.contentChars > 0) {
        reader.readData(Buffer.from(data).toString("latin1"));
        this.#translator.textSinceUnsent = reader.contentChars;
      }
      this.#sink.onData(became === "" ? empty : Buffer.from(became));
    };
  }

  #buffer(chunk: Buffer): null {
    this.#translator.buffer(chunk);
    return null;
  }

  /** Aborts the call after an invalid event, because the call occupies a connection. */
  #stream(chunk: Buffer): void {
    this.#translate(() => this.#translator.push(chunk, this.#onEvent));
    if (this.#hasFailed || !this.#translator.hasFailed) return;
    this.#hasFailed = true;
    this.call?.abort();
    this.#sink.onEnd();
  }

  onEnd(): void {
    if (this.#hasFailed) return;
    if (this.#form === "stream") this.#translate(() => this.#translator.end());
    else if (this.#form === "buffered") this.#translate(() => this.#buffered());
    if (!this.#hasFailed) this.#sink.onEnd();
  }

  #buffered(): Buffer {
    const { form, bytes } = this.#translator.translateBuffered();
    this.#sendHead(form === "events");
    return bytes;
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.#hasFailed) return;
    this.#sendHead(false);
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#hasFailed = true;
    this.call?.abort();
    this.#sink.onBug(error);
  }

  #translate(translate: () => Buffer | null): void {
    let translated: Buffer | null;
    try {
      translated = translate();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) return this.onBug(error);
      const isFailedAnswer = error instanceof FailedAnswer;
      const kind = isFailedAnswer ? "broken" : "untranslatable";
      return this.#fail({ kind, reason: error.message, isFailedAnswer });
    }
    if (translated !== null) this.#sink.onData(translated);
  }

  #fail(failure: UpstreamFailure): void {
    this.#hasFailed = true;
    this.call?.abort();
    this.#sendHead(false);
    this.#sink.onFailure(failure);
  }
}
