/**
 * Which model a provider says that has answered, read from the beginning of its answer while that
 * passes. A quote within a text is escaped there, so what is found is a key and its value.
 */
import type { Upstream, UpstreamSink } from "../../upstream/upstream.js";

/** Within its first bytes nearly every dialect says it. */
const readBytesMax = 4096;
const modelIn = /"model"\s*:\s*"([\w.:/@-]{1,200})"/;

/** `onModel`: at most once. */
export function modelWatchedUpstream(
  upstream: Upstream,
  onModel: (model: string) => void,
): Upstream {
  return {
    ...upstream,
    send: (request, sink) => upstream.send(request, new ModelSink(sink, onModel)),
  };
}

class ModelSink implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #onModel: (model: string) => void;
  #head = "";
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
    this.#sink.onData(chunk);
  }

  #read(chunk: Buffer): void {
    this.#head += chunk.toString("latin1", 0, readBytesMax - this.#head.length);
    const model = modelIn.exec(this.#head)?.[1];
    if (model !== undefined) this.#onModel(model);
    else if (this.#head.length < readBytesMax) return;
    this.#isRead = true;
    this.#head = "";
  }

  onEnd(): void {
    this.#sink.onEnd();
  }

  onFailure(failure: Parameters<UpstreamSink["onFailure"]>[0]): void {
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#sink.onBug(error);
  }
}
