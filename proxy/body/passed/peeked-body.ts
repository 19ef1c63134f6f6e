/**
 * The body of a request that passes as it comes. Its beginning is read ahead, to find the model
 * that it names; then all of it is passed on, and what names another model on its way is refused.
 */
import { largeBodyBytes, peekedBodyBytesMax } from "../../../shared/bounds.js";
import type { HeldPieces } from "../../capacity/memory-ledger.js";
import { boundaryOf, FieldFinder } from "../multipart.js";
import { ModelScan } from "./model-scan.js";
import { usableModel } from "./passthrough-model.js";

interface ModelFinder {
  push(chunk: Buffer): void;
  /** Empty until it is found, and when there is none. */
  readonly model: string;
  /** It came more than once. */
  readonly repeated: boolean;
  /** What isn't readable for sure. */
  readonly problem: string | null;
  readonly over: boolean;
}

/** What a body is read with. */
interface BodyReading {
  /** How long the client says it is, or null. */
  readonly bytesAnnounced: number | null;
  /** What is read ahead takes memory there. */
  readonly memory: HeldPieces;
  /** What is thrown when there is none. */
  readonly noMemory: () => Error;
  /** What is thrown for a problem that is found while the body passes. */
  readonly refused: (problem: string) => Error;
}

/** How a body is described, and what is wanted of it. */
interface BodyHead {
  /** Empty without one, as the next. */
  readonly contentType: string;
  readonly contentEncoding: string;
  /** How much of the body may be read for a model without which the request is refused; or null. */
  readonly requiredWithin: number | null;
}

/** `model` is empty when none is named; `problem` says what is wrong with the model. */
type PeekedModel =
  | { readonly ok: true; readonly model: string }
  | { readonly ok: false; readonly problem: string };

const repeatedProblem = "model is given more than once";

export class PeekedBody {
  /** How many bytes have come so far. */
  bytes = 0;
  readonly #source: AsyncIterator<Buffer>;
  readonly #reading: BodyReading;
  readonly #held: Buffer[] = [];
  #finder: ModelFinder | null = null;
  /** A model was found, for which the request is admitted. */
  #named = false;
  #ended = false;

  constructor(pieces: AsyncIterable<Buffer>, reading: BodyReading) {
    this.#source = pieces[Symbol.asyncIterator]();
    this.#reading = reading;
  }

  /**
   * The model that the body names. One that isn't required is empty when the body names none, only
   * beyond the bound, or can't be read. Throws as its pieces do, and for want of memory.
   */
  async model({ contentType, contentEncoding, requiredWithin }: BodyHead): Promise<PeekedModel> {
    const isPlain = /^(?:identity)?$/i.test(contentEncoding.trim());
    if (!isPlain && requiredWithin !== null)
      return wrong("the body must not be compressed: its model can't be read");
    if (requiredWithin !== null && isUnreadableForm(contentType))
      return wrong("content-type must name one boundary: the form can't be read");
    const finder = isPlain ? finderFor(contentType, requiredWithin !== null) : null;
    if (finder === null) return { ok: true, model: "" };
    this.#finder = finder;
    const bytesMax = requiredWithin ?? peekedBodyBytesMax;
    while (finder.model === "" && !finder.over && this.bytes < bytesMax) {
      const piece = await this.#next();
      if (piece === null) break;
      if (!this.#reading.memory.hold(piece.length)) throw this.#reading.noMemory();
      this.#held.push(piece);
    }
    // Its end is read too if it is there: only a connection whose request was read to the end can
    // be used again.
    if (this.bytes === this.#reading.bytesAnnounced) await this.#next();
    if (finder.model !== "" || finder.repeated || requiredWithin !== null) {
      const problem = problemOf(finder);
      if (problem !== null) return wrong(problem);
    }
    if (finder.model === "" && requiredWithin !== null)
      return wrong(
        this.bytes < bytesMax
          ? "model is required"
          : `model is required within the first ${bytesMax} bytes of the body`,
      );
    this.#named = finder.model !== "";
    return { ok: true, model: finder.model };
  }

  /**
   * The body if it is complete by now and small, as most are; else null. Passing it on in pieces
   * would take as long as the rest of the request; a large one is let go that way.
   */
  get complete(): Buffer | null {
    if (!this.#ended || this.bytes >= largeBodyBytes) return null;
    return this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
  }

  /** How long it is, if that is known. */
  get length(): number | null {
    return this.#ended ? this.bytes : this.#reading.bytesAnnounced;
  }

  /** All of the body; to be called once. A piece that names another model isn't passed on. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (const piece of this.#held.splice(0)) {
      yield piece;
      this.#reading.memory.release(piece.length);
    }
    for (let piece = await this.#next(); piece !== null; piece = await this.#next()) {
      const problem = this.#named ? problemOf(this.#finder!) : null;
      if (problem !== null) throw this.#reading.refused(problem);
      yield piece;
    }
  }

  async #next(): Promise<Buffer | null> {
    if (this.#ended) return null;
    const next = await this.#source.next();
    if (next.done === true) {
      this.#ended = true;
      return null;
    }
    this.bytes += next.value.length;
    if (this.#finder?.over === false) this.#finder.push(next.value);
    return next.value;
  }
}

/** What makes the model doubtful. */
function problemOf({ repeated, problem }: ModelFinder): string | null {
  return repeated ? repeatedProblem : problem;
}

/** A form of a kind, or with a boundary, that servers may read in different ways. */
function isUnreadableForm(contentType: string): boolean {
  return /^\s*multipart\//i.test(contentType) && boundaryOf(contentType) === null;
}

function wrong(problem: string): PeekedModel {
  return { ok: false, problem };
}

/** `isExpected`: many servers read JSON whatever the content type says. */
function finderFor(contentType: string, isExpected: boolean): ModelFinder | null {
  const boundary = boundaryOf(contentType);
  if (boundary !== null) return new FormScan(boundary);
  return isExpected || /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)
    ? new ModelScan()
    : null;
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

  get repeated(): boolean {
    return this.#finder.repeated;
  }

  get problem(): string | null {
    const { problem } = this.#finder;
    return problem === null ? null : `the body is not a readable form: ${problem}`;
  }

  get over(): boolean {
    return this.#finder.ended || this.#finder.problem !== null || this.#finder.repeated;
  }
}
