/**
 * Decodes an answer that is compressed although Sluice asked for no compression, so that it can be
 * read, translated and passed on like any other. Memory stays bounded: the decoder is paused with
 * the client, and pauses the provider when it is full.
 *
 * Not here: passthrough, where such an answer passes unchanged.
 */
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { withoutCoding } from "../../http/copy-headers.js";
import { quotedCharsMax } from "../echo-mask.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { UpstreamSink } from "../upstream.js";

type Decoder = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>;

/**
 * Chosen by the first bytes, since servers use `deflate` for two formats: RFC 1950, as the standard
 * requires, and RFC 1951.
 */
const decoders: ReadonlyMap<string, (first: Buffer) => Decoder> = new Map<
  string,
  (first: Buffer) => Decoder
>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["deflate", (first) => ((first[0]! & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ["br", () => createBrotliDecompress()],
]);

/** The source of the encoded bytes. */
export interface EncodedSource {
  /** `isFull`: whether the decoder accepts no more bytes for now. */
  setFull(isFull: boolean): void;
  abort(): void;
}

/** The sink of an encoded answer. It passes the decoded answer to the real sink. */
export class DecodedAnswer implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #coding: string;
  readonly #source: EncodedSource;
  readonly #newDecoder: ((first: Buffer) => Decoder) | undefined;
  /** Created with the first bytes, since an answer may have none. */
  #decoder: Decoder | null = null;
  #isPaused = false;
  /** All encoded bytes have been received. */
  #isReceived = false;
  /** All decoded bytes have been passed on. */
  #isDecoded = false;
  #isOver = false;

  constructor(sink: UpstreamSink, coding: string, source: EncodedSource) {
    this.#sink = sink;
    this.#coding = coding;
    this.#source = source;
    this.#newDecoder = decoders.get(coding);
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    if (this.#newDecoder !== undefined) return this.#sink.onHead(status, withoutCoding(rawHeaders));
    const quotedCoding = JSON.stringify(this.#coding.slice(0, quotedCharsMax));
    this.#isOver = true;
    this.#source.abort();
    if (status < 300) {
      this.#sink.onHead(status, []);
      return this.#sink.onFailure({
        kind: "untranslatable",
        reason: `its content-encoding ${quotedCoding} can't be read`,
      });
    }
    // An error keeps its status.
    const problem = `a content-encoding that can't be read: ${quotedCoding}`;
    const message = `the provider answered ${status}, with ${problem}`;
    this.#sink.onHead(status, [...withoutCoding(rawHeaders), "content-type", "application/json"]);
    this.#sink.onData(Buffer.from(JSON.stringify({ error: { message } })));
    this.#sink.onEnd();
  }

  onData(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    this.#decoder ??= this.#listenTo(this.#newDecoder!(chunk));
    if (!this.#decoder.write(chunk)) this.#source.setFull(true);
  }

  #listenTo(decoder: Decoder): Decoder {
    decoder.on("data", (chunk: Buffer) => void (this.#isOver || this.#sink.onData(chunk)));
    decoder.on("drain", () => void (this.#isOver || this.#source.setFull(false)));
    decoder.on("end", () => {
      this.#isDecoded = true;
      this.#endIfDone();
    });
    decoder.on("error", (error: Error & { code?: string }) => {
      if (this.#isOver) return;
      this.#source.abort();
      this.onFailure({
        kind: "broken",
        reason: `its content-encoding ${this.#coding} is broken: ${error.code ?? error.message}`,
      });
    });
    if (this.#isPaused) decoder.pause();
    return decoder;
  }

  onEnd(): void {
    this.#isReceived = true;
    if (this.#decoder === null) this.#isDecoded = true;
    else this.#decoder.end();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#isOver || !this.#isReceived || !this.#isDecoded) return;
    this.#isOver = true;
    this.#sink.onEnd();
  }

  onFailure(failure: UpstreamFailure): void {
    this.stop();
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.stop();
    this.#sink.onBug(error);
  }

  pause(): void {
    this.#isPaused = true;
    this.#decoder?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#decoder?.resume();
  }

  /** Stops: the sink gets no further call. */
  stop(): void {
    this.#isOver = true;
    this.#decoder?.destroy();
  }
}
