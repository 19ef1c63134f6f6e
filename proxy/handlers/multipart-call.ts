/**
 * A call whose body is a multipart form, such as audio to transcribe. The form is streamed to the
 * provider, with the target's model in its `model` field. If the path names the model, a form
 * without the field gets one. The form is buffered until the field is known, in memory, or on disk
 * when it is large or memory is short.
 */

import { heldUploadBytesMax } from "../../shared/bounds.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { modelNameProblem } from "../../shared/domain/target-name.js";
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";
import { boundaryOf, FieldFinder, type FormField, newField } from "../body/multipart.js";
import { type HeldPieces, requestPieces } from "../capacity/memory-ledger.js";
import {
  type Spool,
  SpoolFailed,
  UploadGone,
  UploadRefused,
  UploadTooLarge,
} from "../http/body-spool.js";
import { contentCoding } from "../http/copy-headers.js";
import type { RequestContext } from "../request-context.js";
import {
  type CallParts,
  defaultModel,
  type ModelCall,
  notOfferedFailure,
  type ReadCall,
  type TargetRequest,
} from "./model-call.js";

export async function readMultipartCall(
  operation: Operation,
  { gateway, exchange, record }: RequestContext<CallParts>,
): Promise<ReadCall> {
  const { uploadBytesMax, defaultModels } = gateway.config.server;
  const fromMonoMs = gateway.monoMs();
  const boundary = boundaryOf(exchange.header("content-type") ?? "");
  if (exchange.isRepeated("content-type"))
    return { ok: false, failure: invalid("content-type is given more than once") };
  if (boundary === null) return { ok: false, failure: noForm() };
  // Media is compressed already, and the form is streamed.
  if (contentCoding(exchange.header("content-encoding")) !== "")
    return { ok: false, failure: encodedForm() };
  const finder = new FieldFinder(boundary, "model");
  const form = new Form({
    pieces: exchange.readPieces(uploadBytesMax)[Symbol.asyncIterator](),
    finder,
    memory: requestPieces(exchange.memory),
    newSpool: gateway.newSpool,
  });
  try {
    await form.readUntilKnown().finally(() => record.addWait(gateway.monoMs() - fromMonoMs));
  } catch (error) {
    form.close();
    if (error instanceof UploadGone) return { ok: false, failure: null };
    if (error instanceof SpoolFailed)
      return { ok: false, failure: plainFailure(503, "internal_error", error.message) };
    if (error instanceof UploadTooLarge)
      return { ok: false, failure: failure("request_too_large", error.message) };
    throw error;
  }
  const { modelInPath } = exchange;
  const isDefaultModel = modelInPath === null && finder.place === null;
  const modelElsewhere = isDefaultModel ? defaultModel(operation, defaultModels) : modelInPath;
  const problem = problemOf(finder, { isComplete: form.isComplete, modelElsewhere });
  if (problem !== null) {
    form.close();
    return { ok: false, failure: problem };
  }
  const field = finder.place ?? newField("model", boundary, finder);
  const bytes = Number(exchange.header("content-length") ?? NaN);
  const model = modelElsewhere ?? field.value;
  const writtenModel = { field, bytes, isDefaultModel };
  return { ok: true, call: new MultipartCall(operation, form, model, writtenModel) };
}

/**
 * The problem with the form or its model. `modelElsewhere`: the model of the path, which overrides
 * the form's, or the default.
 */
function problemOf(
  { place, problem, isRepeated, ended }: FieldFinder,
  {
    isComplete,
    modelElsewhere,
  }: { readonly isComplete: boolean; readonly modelElsewhere: string | null },
): Failure | null {
  if (problem !== null) return invalid(`the body is not a readable form: ${problem}`, "body");
  if (isComplete && !ended)
    return invalid("the body is not a readable form: it ends within a part", "body");
  if (isRepeated) return invalid("model is given more than once", "model");
  const model = modelElsewhere ?? place?.value;
  if (model === undefined) return invalid("model is required", "model");
  if (model.trim() === "") return invalid("model must not be empty", "model");
  const problemOfName = modelNameProblem(model);
  return problemOfName === null ? null : invalid(problemOfName, "model");
}

/** The failure for a content type other than a form's. */
export function noForm(): Failure {
  return invalid(
    "the body must be a multipart form: content-type must be multipart/form-data with a boundary",
    "body",
  );
}

function encodedForm(): Failure {
  return plainFailure(
    415,
    "invalid_request_error",
    "a form must not be compressed: send it without content-encoding",
  );
}

interface FormParts {
  readonly pieces: AsyncIterator<Buffer>;
  readonly finder: FieldFinder;
  readonly memory: HeldPieces;
  readonly newSpool: () => Promise<Spool>;
}

/**
 * The bytes of the form: the buffered ones, in memory or on disk, and those that are still to
 * arrive.
 */
class Form {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #finder: FieldFinder;
  readonly #memory: HeldPieces;
  readonly #newSpool: () => Promise<Spool>;
  readonly #head: Buffer[] = [];
  #heldBytes = 0;
  #spool: Spool | null = null;
  /** Whether the form is complete. */
  isComplete = false;

  constructor({ pieces, finder, memory, newSpool }: FormParts) {
    this.#pieces = pieces;
    this.#finder = finder;
    this.#memory = memory;
    this.#newSpool = newSpool;
  }

  /**
   * Reads until the model is known and the buffer is full, or the form has ended. A small form and
   * one on disk are complete afterwards.
   */
  async readUntilKnown(): Promise<void> {
    for (;;) {
      const isDecided = this.#finder.place !== null || this.#finder.problem !== null;
      if (isDecided && this.#spool === null && this.#heldBytes >= heldUploadBytesMax) return;
      const next = await this.#pieces.next();
      if (next.done === true) {
        this.isComplete = true;
        return;
      }
      this.#finder.push(next.value);
      if (
        this.#spool === null &&
        (this.#finder.place !== null ||
          this.#heldBytes + next.value.length <= heldUploadBytesMax) &&
        this.#memory.hold(next.value.length)
      ) {
        this.#head.push(next.value);
        this.#heldBytes += next.value.length;
      } else {
        this.#spool ??= await this.#newSpool();
        await this.#spool.write(next.value);
      }
    }
  }

  /**
   * Each piece is checked before it is sent, since a second `model` field could name a model that
   * wasn't admitted. Throws `UploadRefused`.
   */
  async *read(): AsyncIterable<Buffer> {
    yield* this.#head;
    if (this.#spool !== null) yield* this.#spool.read();
    if (this.isComplete) return;
    for (
      let next = await this.#pieces.next();
      next.done !== true;
      next = await this.#pieces.next()
    ) {
      this.#finder.push(next.value);
      const problem = problemOf(this.#finder, { isComplete: false, modelElsewhere: null });
      if (problem !== null) throw new UploadRefused(problem.message);
      yield next.value;
    }
  }

  close(): void {
    this.#spool?.close();
  }
}

interface WrittenModel {
  readonly field: FormField;
  /** The form's length; NaN without a Content-Length. */
  readonly bytes: number;
  /** Whether the client named no model. */
  readonly isDefaultModel: boolean;
}

class MultipartCall implements ModelCall {
  /** A transcription may stream, but gets no keep-alives. */
  readonly stream = false;
  readonly isAgent = false;
  readonly mayRunOthers = false;
  readonly carriedTools = null;
  readonly operation: Operation;
  readonly model: string;
  readonly body = null;
  readonly naming = null;
  readonly turn = null;
  /** The size of a recording says nothing about its tokens. */
  readonly promptBytes = 0;
  readonly isDefaultModel: boolean;
  readonly #form: Form;
  readonly #written: WrittenModel;

  constructor(operation: Operation, form: Form, model: string, written: WrittenModel) {
    this.operation = operation;
    this.model = model;
    this.isDefaultModel = written.isDefaultModel;
    this.#form = form;
    this.#written = written;
  }

  readonly valuesOf = (): readonly string[] => [];

  get isRepeatable(): boolean {
    return this.#form.isComplete;
  }

  problemAt(provider: ProviderConfig): Failure | null {
    return provider.operations.has(this.operation)
      ? null
      : notOfferedFailure(provider, this.operation);
  }

  requestTo(_provider: ProviderConfig, model: string): TargetRequest {
    const { field, bytes: formBytes } = this.#written;
    const { start, end, value, before = "", after = "" } = field;
    const modelField = `${before}${model}${after}`;
    const pieces =
      modelField === value
        ? this.#form.read()
        : splice(this.#form.read(), start, end, Buffer.from(modelField));
    const bytes =
      modelField === value ? formBytes : formBytes - (end - start) + utf8Bytes(modelField);
    return {
      operation: this.operation,
      body: { pieces, bytes: Number.isNaN(bytes) ? null : bytes },
      savedBytes: 0,
      hideUsageChunk: false,
      translator: null,
      dropped: [],
    };
  }

  readonly mayLose = (): boolean => false;

  /** The form may still be arriving. */
  releaseAttempts(): void {}

  close(): void {
    this.#form.close();
  }
}

/** The bytes with `replacement` from `start` to `end`. */
export async function* splice(
  pieces: AsyncIterable<Buffer>,
  start: number,
  end: number,
  replacement: Buffer,
): AsyncIterable<Buffer> {
  let position = 0;
  for await (const piece of pieces) {
    const from = position;
    position += piece.length;
    if (from < start) yield piece.subarray(0, Math.min(piece.length, start - from));
    if (from <= start && position > start) yield replacement;
    if (position > end) yield piece.subarray(Math.max(0, end - from));
  }
}
