/**
 * A provider that speaks another dialect than the client, as an upstream that speaks the client's:
 * its successful answers are translated on their way, its errors and failures pass. A whole answer
 * to who asked for a stream becomes one; a stream to who asked for a whole answer can't be
 * translated.
 */
import { headerOf, withContentType } from "../http/copy-headers.js";
import type { UpstreamFailure } from "../upstream/errors/upstream-failure.js";
import type {
  Upstream,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from "../upstream/upstream.js";
import type { TranslationReport } from "../usage/response-meter.js";
import { FailedAnswer, UntranslatableAnswer } from "./translation/translation.js";

/**
 * `untouched`: it is an error, or no answer at all, as the provider gave it. `events`: the stream
 * that was asked for, all of it.
 */
export interface WholeAnswer {
  readonly form: "answer" | "events" | "untouched";
  readonly bytes: Buffer;
}

/** An answer on its way into the client's dialect, in bytes. */
export interface AnswerTranslator extends TranslationReport {
  /**
   * A piece of a whole answer, which is kept. Throws `UntranslatableAnswer` when it has grown too
   * large.
   */
  keep(chunk: Buffer): void;
  /** The whole answer that was kept. Throws when it makes no sense. */
  whole(): WholeAnswer;
  /** Whether the client asked for a stream. */
  readonly asksStream: boolean;
  /** A piece of a stream; null: nothing goes out for it. */
  push(chunk: Buffer): Buffer | null;
  /** What is left when the provider's stream has ended in order. */
  end(): Buffer | null;
  /** What the stream said makes no sense, and its client has been told so in its last event. */
  readonly failed: boolean;
}

export function translatedUpstream(upstream: Upstream, translator: AnswerTranslator): Upstream {
  return {
    send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
      const translating = new TranslatingSink(sink, translator);
      const call = upstream.send(request, translating);
      translating.call = call;
      return call;
    },
    redact: (text) => upstream.redact(text),
    close: () => upstream.close(),
  };
}

class TranslatingSink implements UpstreamSink {
  call: UpstreamCall | null = null;
  readonly #sink: UpstreamSink;
  readonly #translator: AnswerTranslator;
  /** `passed`: an error, which has its own mapping. */
  #form: "passed" | "stream" | "whole" = "passed";
  #failed = false;
  /**
   * Of a whole answer to who asked for a stream: it is told when it is known which of them goes
   * out.
   */
  #head: { readonly status: number; readonly rawHeaders: readonly (Buffer | string)[] } | null =
    null;

  constructor(sink: UpstreamSink, translator: AnswerTranslator) {
    this.#sink = sink;
    this.#translator = translator;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (status < 300)
      this.#form = headerOf(rawHeaders, "content-type")
        .toLowerCase()
        .startsWith("text/event-stream")
        ? "stream"
        : "whole";
    const { asksStream } = this.#translator;
    if (this.#form === "whole" && asksStream) this.#head = { status, rawHeaders };
    else if (this.#form === "stream" && !asksStream) this.#refuseStream(status, rawHeaders);
    else this.#sink.onHead(status, rawHeaders);
  }

  #refuseStream(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#sink.onHead(status, withContentType(rawHeaders, "application/json"));
    this.#fail({
      kind: "untranslatable",
      reason: "it is a stream of events, but the request didn't ask for a stream",
    });
  }

  #tellHead(isStream: boolean): void {
    if (this.#head === null) return;
    const { status, rawHeaders } = this.#head;
    this.#head = null;
    this.#sink.onHead(
      status,
      isStream ? withContentType(rawHeaders, "text/event-stream; charset=utf-8") : rawHeaders,
    );
  }

  onData(chunk: Buffer): void {
    if (this.#failed) return;
    if (this.#form === "passed") return this.#sink.onData(chunk);
    if (this.#form === "stream") return this.#stream(chunk);
    this.#translate(() => this.#kept(chunk));
  }

  #kept(chunk: Buffer): null {
    this.#translator.keep(chunk);
    return null;
  }

  /** A provider that makes no sense isn't listened to any longer: its call holds a slot. */
  #stream(chunk: Buffer): void {
    this.#translate(() => this.#translator.push(chunk));
    if (this.#failed || !this.#translator.failed) return;
    this.#failed = true;
    this.call?.abort();
    this.#sink.onEnd();
  }

  onEnd(): void {
    if (this.#failed) return;
    if (this.#form === "stream") this.#translate(() => this.#translator.end());
    else if (this.#form === "whole") this.#translate(() => this.#whole());
    if (!this.#failed) this.#sink.onEnd();
  }

  #whole(): Buffer {
    const { form, bytes } = this.#translator.whole();
    this.#tellHead(form === "events");
    return bytes;
  }

  onFailure(failure: UpstreamFailure): void {
    if (this.#failed) return;
    this.#tellHead(false);
    this.#sink.onFailure(failure);
  }

  #translate(translate: () => Buffer | null): void {
    let translated: Buffer | null;
    try {
      translated = translate();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      return this.#fail({
        kind: error instanceof FailedAnswer ? "broken" : "untranslatable",
        reason: error.message,
      });
    }
    if (translated !== null) this.#sink.onData(translated);
  }

  #fail(failure: UpstreamFailure): void {
    this.#failed = true;
    this.call?.abort();
    this.#tellHead(false);
    this.#sink.onFailure(failure);
  }
}
