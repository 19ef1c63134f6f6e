/**
 * A provider that speaks another dialect than the client, as an upstream that speaks the client's:
 * its successful answers are translated on their way, its errors and failures pass.
 */
import { headerOf } from "./copy-headers.js";
import { UntranslatableAnswer } from "./dialects/untranslatable-answer.js";
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamRequest, UpstreamSink } from "./upstream.js";

/** An answer on its way into the client's dialect, in bytes. */
export interface AnswerTranslator {
  /** A piece of a whole answer, which is kept. Throws `UntranslatableAnswer` when it has grown too large. */
  keep(chunk: Buffer): void;
  /** The whole answer that was kept. Throws when it makes no sense. */
  whole(): Buffer;
  /** A piece of a stream; null: nothing goes out for it. */
  push(chunk: Buffer): Buffer | null;
  /** What is left when the provider's stream has ended in order. */
  end(): Buffer | null;
  /** What the stream said makes no sense, and its client has been told so in its last event. */
  readonly failed: boolean;
  /** Bytes of a whole answer that has not come to its end, or that nothing could be made of; and of the text in an event that was too large. */
  readonly untoldBytes: number;
  /** Why a stream was given up before its next event could be translated, for the log; or null. */
  readonly refused: string | null;
  /** What the provider itself told of its usage, in its own fields; null or undefined: nothing. */
  readonly usage: unknown;
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

  constructor(sink: UpstreamSink, translator: AnswerTranslator) {
    this.#sink = sink;
    this.#translator = translator;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (status < 300) this.#form = headerOf(rawHeaders, "content-type").toLowerCase().startsWith("text/event-stream") ? "stream" : "whole";
    this.#sink.onHead(status, rawHeaders);
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
    else if (this.#form === "whole") this.#translate(() => this.#translator.whole());
    if (!this.#failed) this.#sink.onEnd();
  }

  onFailure(failure: UpstreamFailure): void {
    if (!this.#failed) this.#sink.onFailure(failure);
  }

  #translate(translate: () => Buffer | null): void {
    let translated: Buffer | null;
    try {
      translated = translate();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      return this.#fail(error.message);
    }
    if (translated !== null) this.#sink.onData(translated);
  }

  #fail(reason: string): void {
    this.#failed = true;
    this.call?.abort();
    this.#sink.onFailure({ kind: "untranslatable", reason });
  }
}
