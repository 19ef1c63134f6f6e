/**
 * A provider that speaks another dialect than the client, as an upstream that speaks the client's:
 * its successful answers are translated on their way, its errors and failures pass.
 */
import { readableResponseBytesMax } from "../shared/bounds.js";
import { headerOf } from "./copy-headers.js";
import { UntranslatableAnswer } from "./dialects/untranslatable-answer.js";
import type { Upstream, UpstreamCall, UpstreamFailure, UpstreamRequest, UpstreamSink } from "./upstream.js";

/** An answer on its way into the client's dialect, in bytes. */
export interface AnswerTranslator {
  /** A whole answer. Throws `UntranslatableAnswer` when it makes no sense. */
  whole(body: Buffer): Buffer;
  /** A piece of a stream; null: nothing goes out for it. Throws as `whole` does. */
  push(chunk: Buffer): Buffer | null;
  /** What is left when the provider's stream has ended in order. */
  end(): Buffer | null;
  /** The stream makes no sense, and its client has been told so in its last event. */
  readonly failed: boolean;
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
  #kept: Buffer[] = [];
  #bytes = 0;
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
    this.#bytes += chunk.length;
    if (this.#bytes > readableResponseBytesMax) return this.#fail(`an answer larger than ${readableResponseBytesMax} bytes can't be translated`);
    this.#kept.push(chunk);
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
    else if (this.#form === "whole") this.#translate(() => this.#translator.whole(Buffer.concat(this.#kept)));
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
    this.#sink.onFailure({ kind: "broken", reason });
  }
}
