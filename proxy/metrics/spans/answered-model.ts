/**
 * Reads the name of the answering model from the beginning of a provider's answer as it passes.
 * Quotes within a JSON text are escaped, so a match is a key and its value. Gemini's own API puts
 * the name after the content, where a call's arguments may contain the same key.
 */
import type { Upstream, UpstreamSink } from "../../upstream/upstream.js";

/** Nearly every dialect has the name within its first bytes. */
const readBytesMax = 4096;
/** A whole answer of Gemini's API has fewer characters after its content. */
const tailCharsMax = 2048;
const isOfGemini = /"candidates"\s*:/;
const versionIn = /"modelVersion"\s*:\s*"([\w.:/@-]{1,200})"/g;
const modelIn = /"model"\s*:\s*"([\w.:/@-]{1,200})"/;

/** Calls `onModel` at most once. */
export function modelWatchedUpstream(
  upstream: Upstream,
  onModel: (model: string) => void,
): Upstream {
  return {
    ...upstream,
    send: (request, sink) => upstream.send(request, new ModelSink(sink, onModel)),
  };
}

/** The last match, since it comes after the model's content. */
function versionOf(text: string): string | undefined {
  return [...text.matchAll(versionIn)].at(-1)?.[1];
}

class ModelSink implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #onModel: (model: string) => void;
  #head = "";
  /** The end of an answer whose beginning has no name. */
  #tail: string | null = null;
  #isRead = false;

  constructor(sink: UpstreamSink, onModel: (model: string) => void) {
    this.#sink = sink;
    this.#onModel = onModel;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#isRead = status >= 300;
    this.#sink.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): void {
    if (!this.#isRead) this.#read(chunk);
    else if (this.#tail !== null) this.#keepEnd(chunk);
    this.#sink.onData(chunk);
  }

  #read(chunk: Buffer): void {
    this.#head += chunk.toString("latin1", 0, readBytesMax - this.#head.length);
    const ofGemini = isOfGemini.test(this.#head);
    const model = ofGemini ? versionOf(this.#head) : modelIn.exec(this.#head)?.[1];
    if (model !== undefined) this.#onModel(model);
    else if (this.#head.length < readBytesMax) return;
    else if (ofGemini) this.#tail = "";
    this.#isRead = true;
    this.#head = "";
    if (this.#tail !== null) this.#keepEnd(chunk);
  }

  #keepEnd(chunk: Buffer): void {
    const from = Math.max(0, chunk.length - tailCharsMax);
    this.#tail = (this.#tail + chunk.toString("latin1", from)).slice(-tailCharsMax);
  }

  onEnd(): void {
    const model = this.#tail === null ? undefined : versionOf(this.#tail);
    if (model !== undefined) this.#onModel(model);
    this.#sink.onEnd();
  }

  onFailure(failure: Parameters<UpstreamSink["onFailure"]>[0]): void {
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#sink.onBug(error);
  }
}
