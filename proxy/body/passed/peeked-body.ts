/**
 * The body of a request that passes unchanged. It reads the beginning ahead to find the model that
 * the body names. Then it passes the whole body on, and refuses a piece that names another model.
 */
import { largeBodyBytes, peekedBodyBytesMax } from "../../../shared/bounds.js";
import type { HeldPieces } from "../../capacity/memory-ledger.js";
import { boundaryOf, FieldFinder } from "../multipart.js";
import { ModelScan } from "./model-scan.js";
import { usableModel } from "./passthrough-model.js";

interface ModelFinder {
  push(chunk: Buffer): void;
  /** Empty until the model is found, or if there is none. */
  readonly model: string;
  /** The model came more than once. */
  readonly isRepeated: boolean;
  /** The problem where servers may read the body in different ways. */
  readonly problem: string | null;
  readonly isOver: boolean;
}

/** The means for reading a body. */
interface BodyReading {
  /** The announced length of the body, or null. */
  readonly bytesAnnounced: number | null;
  /** The account for the memory of bytes that are read ahead. */
  readonly memory: HeldPieces;
  /** The error to throw when memory runs out. */
  readonly noMemory: () => Error;
  /** The error to throw for a problem found while the body passes. */
  readonly refused: (problem: string) => Error;
}

/** The description of a body, and whether it must name a model. */
interface BodyHead {
  /** This and `contentEncoding` are empty without the header. */
  readonly contentType: string;
  readonly contentEncoding: string;
  /** How many bytes may be read to find a required model; null if no model is required. */
  readonly requiredWithin: number | null;
}

/** `model` is empty if the body names none; `problem` is the problem with the model. */
type PeekedModel =
  | { readonly ok: true; readonly model: string }
  | { readonly ok: false; readonly problem: string };

const repeatedProblem = "model is given more than once";

export class PeekedBody {
  /** The bytes received so far. */
  bytes = 0;
  /** Null for a body that is there as a whole. */
  readonly #source: AsyncIterator<Buffer> | null = null;
  readonly #reading: BodyReading;
  readonly #pieces: Buffer[] = [];
  #finder: ModelFinder | null = null;
  /** Whether the request was admitted for a model that was found. */
  #isNamed = false;
  #hasEnded = false;

  /** `body`: the whole body if it is small, or its pieces as they arrive. */
  constructor(body: Buffer | AsyncIterable<Buffer>, reading: BodyReading) {
    this.#reading = reading;
    if (Buffer.isBuffer(body)) {
      this.#pieces.push(body);
      this.bytes = body.length;
      this.#hasEnded = true;
    } else this.#source = body[Symbol.asyncIterator]();
  }

  /**
   * The model that the body names. An optional model is empty if the body doesn't name it within
   * the bound, or can't be read. Throws the errors of the pieces, and an error when memory runs
   * out.
   */
  async model({ contentType, contentEncoding, requiredWithin }: BodyHead): Promise<PeekedModel> {
    const isPlain = /^(?:identity)?$/i.test(contentEncoding.trim());
    if (!isPlain && requiredWithin !== null)
      return wrongModel("the body must not be compressed: its model can't be read");
    if (requiredWithin !== null && isUnreadableForm(contentType))
      return wrongModel("content-type must name one boundary: the form can't be read");
    const finder = isPlain ? finderFor(contentType, requiredWithin !== null) : null;
    if (finder === null) return { ok: true, model: "" };
    this.#finder = finder;
    for (const piece of this.#pieces) finder.push(piece);
    const bytesMax = requiredWithin ?? peekedBodyBytesMax;
    while (finder.model === "" && !finder.isOver && this.bytes < bytesMax) {
      const piece = await this.#next();
      if (piece === null) break;
      if (!this.#reading.memory.hold(piece.length)) throw this.#reading.noMemory();
      this.#pieces.push(piece);
    }
    // Read the end too if it is there: a connection can be reused only after its request was read
    // to the end.
    if (this.bytes === this.#reading.bytesAnnounced) await this.#next();
    if (finder.model !== "" || finder.isRepeated || requiredWithin !== null) {
      const problem = problemOf(finder);
      if (problem !== null) return wrongModel(problem);
    }
    if (finder.model === "" && requiredWithin !== null)
      return wrongModel(
        this.bytes < bytesMax
          ? "model is required"
          : `model is required within the first ${bytesMax} bytes of the body`,
      );
    this.#isNamed = finder.model !== "";
    return { ok: true, model: finder.model };
  }

  /**
   * The body if it is complete and small, as most are; otherwise null. Passing a small body on in
   * pieces would take as long as the rest of the request. Large bodies pass in pieces, which frees
   * their memory on the way.
   */
  get complete(): Buffer | null {
    if (!this.#hasEnded || this.bytes >= largeBodyBytes) return null;
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
  }

  /** Releases a body that was sent as a whole: its answer has begun. */
  release(): void {
    for (const piece of this.#pieces.splice(0)) this.#reading.memory.release(piece.length);
  }

  /** The length if it is known. */
  get length(): number | null {
    return this.#hasEnded ? this.bytes : this.#reading.bytesAnnounced;
  }

  /** The whole body. Call this once. A piece that names another model isn't passed on. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (const piece of this.#pieces.splice(0)) {
      yield piece;
      this.#reading.memory.release(piece.length);
    }
    for (let piece = await this.#next(); piece !== null; piece = await this.#next()) {
      const problem = this.#isNamed ? problemOf(this.#finder!) : null;
      if (problem !== null) throw this.#reading.refused(problem);
      yield piece;
    }
  }

  async #next(): Promise<Buffer | null> {
    if (this.#hasEnded) return null;
    const next = await this.#source!.next();
    if (next.done === true) {
      this.#hasEnded = true;
      return null;
    }
    this.bytes += next.value.length;
    if (this.#finder?.isOver === false) this.#finder.push(next.value);
    return next.value;
  }
}

/** The problem that makes the model ambiguous, or null. */
function problemOf({ isRepeated, problem }: ModelFinder): string | null {
  return isRepeated ? repeatedProblem : problem;
}

/**
 * A multipart type other than a form, or an ambiguous boundary: servers may read the body in
 * different ways.
 */
function isUnreadableForm(contentType: string): boolean {
  return /^\s*multipart\//i.test(contentType) && boundaryOf(contentType) === null;
}

function wrongModel(problem: string): PeekedModel {
  return { ok: false, problem };
}

/** `isExpected`: whether to assume JSON for any other content type, because many servers do. */
function finderFor(contentType: string, isExpected: boolean): ModelFinder | null {
  const boundary = boundaryOf(contentType);
  if (boundary !== null) return new FormScan(boundary);
  return isExpected || isJson(contentType) ? new ModelScan() : null;
}

export function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType);
}

/** Finds the field `model` of a form. */
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

  get isRepeated(): boolean {
    return this.#finder.isRepeated;
  }

  get problem(): string | null {
    const { problem } = this.#finder;
    return problem === null ? null : `the body is not a readable form: ${problem}`;
  }

  get isOver(): boolean {
    return this.#finder.ended || this.#finder.problem !== null || this.#finder.isRepeated;
  }
}
