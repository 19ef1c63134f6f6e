/**
 * A call whose request is a multipart form: transcriptions and translations of audio. The form
 * passes as it comes, with another value in its `model` where that differs. It is read until the
 * model is known: what comes before it waits in memory, and on disk once it is larger than that.
 */
import { heldUploadBytesMax, subjectBytesMax } from "../../shared/bounds.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { utf8Bytes } from "../../shared/utf8-bytes.js";
import { boundaryOf, FieldFinder, type FieldPlace } from "../body/multipart.js";
import {
  type Spool,
  SpoolFailed,
  UploadGone,
  UploadRefused,
  UploadTooLarge,
} from "../http/upload.js";
import { notOffered } from "../routing/not-offered.js";
import type { CallSource, ModelCall, ReadCall, TargetRequest } from "./model-call.js";

export async function readMultipartCall(
  operation: Operation,
  { exchange, uploadBytesMax, newSpool }: CallSource,
): Promise<ReadCall> {
  const boundary = boundaryOf(exchange.header("content-type") ?? "");
  if (boundary === null) return { ok: false, failure: noForm() };
  const finder = new FieldFinder(boundary, "model");
  const form = new Form(
    exchange.readPieces(uploadBytesMax)[Symbol.asyncIterator](),
    finder,
    newSpool,
  );
  try {
    await form.readUntilKnown();
  } catch (error) {
    form.close();
    if (error instanceof UploadGone) return { ok: false, failure: null };
    if (error instanceof SpoolFailed)
      return { ok: false, failure: plainFailure(503, "internal_error", error.message) };
    if (error instanceof UploadTooLarge)
      return { ok: false, failure: failure("request_too_large", error.message) };
    throw error;
  }
  const problem = problemOf(finder, form.whole);
  if (problem !== null) {
    form.close();
    return { ok: false, failure: problem };
  }
  return {
    ok: true,
    call: new MultipartCall(
      operation,
      form,
      finder.place!,
      Number(exchange.header("content-length") ?? NaN),
    ),
  };
}

function problemOf(
  { place, problem, repeated, ended }: FieldFinder,
  whole: boolean,
): Failure | null {
  if (problem !== null) return invalid(`the body is not a readable form: ${problem}`, "body");
  if (whole && !ended)
    return invalid("the body is not a readable form: it ends within a part", "body");
  if (place === null) return invalid("model is required", "model");
  if (repeated) return invalid("model is given more than once", "model");
  if (place.value.trim() === "") return invalid("model must not be empty", "model");
  return utf8Bytes(place.value) > subjectBytesMax
    ? invalid(`model must be at most ${subjectBytesMax} bytes`, "model")
    : null;
}

/** What is said of a body that doesn't call itself a form. */
export function noForm(): Failure {
  return invalid(
    "the body must be a multipart form: content-type must be multipart/form-data with a boundary",
    "body",
  );
}

/**
 * The form's bytes: those that have been read, in memory or on disk, and those that are still to
 * come.
 */
class Form {
  readonly #coming: AsyncIterator<Buffer>;
  readonly #finder: FieldFinder;
  readonly #newSpool: () => Promise<Spool>;
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #spool: Spool | null = null;
  /** All of it has come. */
  whole = false;

  constructor(coming: AsyncIterator<Buffer>, finder: FieldFinder, newSpool: () => Promise<Spool>) {
    this.#coming = coming;
    this.#finder = finder;
    this.#newSpool = newSpool;
  }

  /**
   * Reads until the model is known and memory is full, or the form has ended. A small one is whole
   * afterwards, and so is one that had to go to disk.
   */
  async readUntilKnown(): Promise<void> {
    for (;;) {
      const known = this.#finder.place !== null || this.#finder.problem !== null;
      if (known && this.#spool === null && this.#heldBytes >= heldUploadBytesMax) return;
      const next = await this.#coming.next();
      if (next.done === true) {
        this.whole = true;
        return;
      }
      this.#finder.push(next.value);
      if (
        this.#spool === null &&
        (this.#finder.place !== null || this.#heldBytes + next.value.length <= heldUploadBytesMax)
      ) {
        this.#held.push(next.value);
        this.#heldBytes += next.value.length;
      } else {
        this.#spool ??= await this.#newSpool();
        await this.#spool.write(next.value);
      }
    }
  }

  /**
   * What comes while it passes is looked at before it goes on: the provider might read another
   * model, which nobody has judged. Throws `UploadRefused`.
   */
  async *read(): AsyncIterable<Buffer> {
    yield* this.#held;
    if (this.#spool !== null) yield* this.#spool.read();
    if (this.whole) return;
    for (
      let next = await this.#coming.next();
      next.done !== true;
      next = await this.#coming.next()
    ) {
      this.#finder.push(next.value);
      const problem = problemOf(this.#finder, false);
      if (problem !== null) throw new UploadRefused(problem.message);
      yield next.value;
    }
  }

  close(): void {
    this.#spool?.close();
  }
}

class MultipartCall implements ModelCall {
  readonly operation: Operation;
  readonly model: string;
  readonly body = null;
  /** A recording tells nothing of tokens. */
  readonly promptBytes = 0;
  readonly #form: Form;
  readonly #place: FieldPlace;
  /** NaN when the client didn't say. */
  readonly #bytes: number;

  constructor(operation: Operation, form: Form, place: FieldPlace, bytes: number) {
    this.operation = operation;
    this.model = place.value;
    this.#form = form;
    this.#place = place;
    this.#bytes = bytes;
  }

  get repeatable(): boolean {
    return this.#form.whole;
  }

  problemAt(provider: ProviderConfig): Failure | null {
    return provider.operations.has(this.operation) ? null : notOffered(provider, this.operation);
  }

  requestTo(_provider: ProviderConfig, model: string): TargetRequest {
    const { start, end, value } = this.#place;
    const pieces =
      model === value
        ? this.#form.read()
        : splice(this.#form.read(), start, end, Buffer.from(model));
    const bytes = model === value ? this.#bytes : this.#bytes - (end - start) + utf8Bytes(model);
    return {
      operation: this.operation,
      body: { pieces, bytes: Number.isNaN(bytes) ? null : bytes },
      savedBytes: 0,
      hideUsageChunk: false,
      translator: null,
    };
  }

  close(): void {
    this.#form.close();
  }
}

/** The same bytes, with others in the place from `start` to `end`. */
export async function* splice(
  pieces: AsyncIterable<Buffer>,
  start: number,
  end: number,
  instead: Buffer,
): AsyncIterable<Buffer> {
  let at = 0;
  for await (const piece of pieces) {
    const from = at;
    at += piece.length;
    if (from < start) yield piece.subarray(0, Math.min(piece.length, start - from));
    if (from <= start && at > start) yield instead;
    if (at > end) yield piece.subarray(Math.max(0, end - from));
  }
}
