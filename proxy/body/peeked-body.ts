/**
 * The body of a request that passes as it comes. Its beginning is read ahead, up to a bound, to
 * find the model that it names; then all of it is passed on.
 */
import { peekedBodyBytesMax } from "../../shared/bounds.js";
import { ModelScan } from "./model-scan.js";
import { boundaryOf, FieldFinder } from "./multipart.js";
import { usableModel } from "./passthrough-model.js";

interface ModelFinder {
  push(chunk: Buffer): void;
  /** Empty until it is found, and when there is none. */
  readonly model: string;
  readonly over: boolean;
}

export class PeekedBody {
  /** How many bytes have come so far. */
  bytes = 0;
  readonly #source: AsyncIterator<Buffer>;
  readonly #bytesAnnounced: number | null;
  readonly #held: Buffer[] = [];
  #ended = false;

  /** `bytesAnnounced`: how long the client says it is, or null. */
  constructor(pieces: AsyncIterable<Buffer>, bytesAnnounced: number | null) {
    this.#source = pieces[Symbol.asyncIterator]();
    this.#bytesAnnounced = bytesAnnounced;
  }

  /**
   * The model that the body names; empty when it names none, only beyond the bound, or can't be
   * read. Throws as its pieces do.
   */
  async model(contentType: string, contentEncoding: string): Promise<string> {
    const finder =
      contentEncoding === "" || contentEncoding === "identity" ? finderFor(contentType) : null;
    if (finder === null) return "";
    while (!finder.over && this.bytes < peekedBodyBytesMax) {
      const piece = await this.#next();
      if (piece === null) break;
      this.#held.push(piece);
      finder.push(piece);
    }
    // Its end is read too if it is there: only a connection whose request was read to the end can
    // be used again.
    if (this.bytes === this.#bytesAnnounced) await this.#next();
    return finder.model;
  }

  /**
   * The body if it is complete by now, as most are, which are small; else null. Passing it on in
   * pieces would take as long as the rest of the request.
   */
  get complete(): Buffer | null {
    if (!this.#ended) return null;
    return this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
  }

  /** All of the body; to be called once. */
  async *pieces(): AsyncGenerator<Buffer> {
    yield* this.#held.splice(0);
    for (let piece = await this.#next(); piece !== null; piece = await this.#next()) yield piece;
  }

  async #next(): Promise<Buffer | null> {
    if (this.#ended) return null;
    const next = await this.#source.next();
    if (next.done === true) {
      this.#ended = true;
      return null;
    }
    this.bytes += next.value.length;
    return next.value;
  }
}

function finderFor(contentType: string): ModelFinder | null {
  if (/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)) return new ModelScan();
  const boundary = boundaryOf(contentType);
  return boundary === null ? null : new FormScan(boundary);
}

/** The field `model` of a form. */
class FormScan implements ModelFinder {
  readonly #finder: FieldFinder;

  constructor(boundary: string) {
    this.#finder = new FieldFinder(boundary, "model");
  }

  push(chunk: Buffer): void {
    this.#finder.push(chunk);
  }

  get model(): string {
    return usableModel(this.#finder.place?.value ?? "");
  }

  get over(): boolean {
    return this.#finder.place !== null || this.#finder.ended || this.#finder.problem !== null;
  }
}
