/**
 * Checks the objects that the lines of a batch's input file name (docs/security.md, "Stored
 * objects"). Each line is a request that the provider executes later with access to the whole
 * account, so it may name only objects that the caller's own requests may name.
 *
 * Not here: reading the file (`../handlers/objects/batch-input-problem.ts`).
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { type Failure, failure, invalid } from "../../shared/error-code.js";
import { objectsPerCall } from "../../shared/wire/stored-object.js";
import { hasMoreValues, tooManyValues } from "../body/count-values.js";
import { kindOf } from "../body/json-value.js";
import type { MemoryShare } from "../capacity/memory-ledger.js";
import { noMemory } from "../http/body-spool.js";
import { type firstForeign, noSuchObject } from "./object-access.js";
import { type Naming, namingIn } from "./object-body.js";
import { namedMax } from "./object-ids.js";

/** Ids in all lines of a file: four in each of 50,000 lines. The daemon is asked about each. */
export const namesPerFileMax = 200_000;

/**
 * Lines of a file, including blank ones, which take time, too. OpenAI accepts at most 50,000, Azure
 * 100,000.
 */
export const linesPerFileMax = 200_000;

interface BatchInput {
  readonly fileId: string;
  readonly pieces: AsyncIterable<Buffer>;
  readonly fileBytesMax: number;
  readonly lineBytesMax: number;
  readonly memory: Pick<MemoryShare, "take" | "give">;
  readonly isUtf8: (bytes: Buffer) => boolean;
  readonly firstForeign: (ids: readonly string[]) => ReturnType<typeof firstForeign>;
}

/**
 * Why a caller may not submit this file; null if it may. Rejects as the pieces do. `param` is the
 * field of the batch; the message names the line and its field.
 */
export async function problemInLines(input: BatchInput): Promise<Failure | null> {
  const { fileId, pieces, fileBytesMax, lineBytesMax, memory } = input;
  const lines = new Lines();
  const namedObjects = new NamedInLines(input);
  let bytes = 0;
  let heldBytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > fileBytesMax) return tooLarge(`${fileId} is larger than ${fileBytesMax} bytes`);
    if (!memory.take(piece.length)) return noMemory();
    heldBytes += piece.length;
    for (const line of lines.push(piece)) {
      const problem = namedObjects.add(line) ?? (await namedObjects.askIfMany());
      if (problem !== null) return problem;
    }
    if (lines.pendingBytes > lineBytesMax)
      return tooLarge(
        `line ${namedObjects.line + 1} of ${fileId} is larger than ${lineBytesMax} bytes`,
      );
    memory.give(heldBytes - lines.pendingBytes);
    heldBytes = lines.pendingBytes;
  }
  const problem = lines.pendingBytes === 0 ? null : namedObjects.add(lines.rest());
  return problem ?? namedObjects.ask();
}

function tooLarge(message: string): Failure {
  return failure("request_too_large", message, "input_file_id");
}

/** Splits pieces of a file into lines. */
class Lines {
  #pieces: Buffer[] = [];
  /** The bytes of the incomplete line. */
  pendingBytes = 0;

  *push(piece: Buffer): Generator<Buffer> {
    let from = 0;
    for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", from)) {
      this.#keep(piece.subarray(from, end));
      yield this.rest();
      from = end + 1;
    }
    this.#keep(piece.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#pieces.push(part);
    this.pendingBytes += part.length;
  }

  /** The last line if no line end follows it. */
  rest(): Buffer {
    const line = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.pendingBytes = 0;
    return line;
  }
}

/** The ids that lines name, collected until the daemon is asked who made the objects. */
class NamedInLines {
  /** The number of the last line. */
  line = 0;
  readonly #input: Pick<BatchInput, "fileId" | "isUtf8" | "firstForeign">;
  readonly #places = new Map<string, { readonly line: number; readonly field: string }>();
  #count = 0;

  constructor(input: Pick<BatchInput, "fileId" | "isUtf8" | "firstForeign">) {
    this.#input = input;
  }

  /** Adds a line; returns its problem, or null. */
  add(bytes: Buffer): Failure | null {
    this.line += 1;
    if (this.line > linesPerFileMax)
      return this.#failureAt(this.line, invalid(`the file has more than ${linesPerFileMax} lines`));
    const json = this.line === 1 ? withoutMark(bytes) : bytes;
    if (isBlank(json)) return null;
    const parsed = readLine(json, this.#input.isUtf8);
    if (!parsed.ok) return this.#failureAt(this.line, parsed.failure);
    const { naming } = parsed;
    if (naming === null) return null;
    const { ids, repeated } = naming;
    if (repeated !== null) return this.#failureAt(this.line, repeated);
    if (ids === null)
      return this.#failureAt(this.line, invalid(`it names more than ${namedMax} stored objects`));
    this.#count += ids.size;
    if (this.#count > namesPerFileMax)
      return this.#failureAt(
        this.line,
        invalid(`the file names more than ${namesPerFileMax} objects`),
      );
    for (const [id, field] of ids)
      if (!this.#places.has(id)) this.#places.set(id, { line: this.line, field });
    return null;
  }

  askIfMany(): Promise<Failure | null> | null {
    return this.#places.size < objectsPerCall ? null : this.ask();
  }

  /** Whether the caller may name the ids that were added since the last call. */
  async ask(): Promise<Failure | null> {
    if (this.#places.size === 0) return null;
    const foreign = await this.#input.firstForeign([...this.#places.keys()]);
    if (!foreign.ok) return foreign.failure;
    if (foreign.id !== null) {
      const { line, field } = this.#places.get(foreign.id)!;
      return this.#failureAt(line, noSuchObject(foreign.id, field));
    }
    this.#places.clear();
    return null;
  }

  #failureAt(line: number, problem: Failure): Failure {
    const field = problem.param === null || problem.param === "body" ? "" : ` (${problem.param})`;
    const message = `line ${line} of ${this.#input.fileId}: ${problem.message}${field}`;
    return { ...problem, message, param: "input_file_id" };
  }
}

type ReadLine =
  | { readonly ok: true; readonly naming: Naming | null }
  | { readonly ok: false; readonly failure: Failure };

/** Parses a line once. Refuses what servers could read in two ways, as for a body. */
function readLine(line: Buffer, isUtf8: (bytes: Buffer) => boolean): ReadLine {
  const refused = (failure: Failure): ReadLine => ({ ok: false, failure });
  if (!isUtf8(line)) return refused(invalid("it must be a JSON object: it is not valid UTF-8"));
  const text = line.toString("utf8");
  if (hasMoreValues(text)) return refused(tooManyValues("it"));
  const value = parseJson(text);
  if (value === undefined)
    return refused(invalid("it must be a JSON object: it is not valid JSON"));
  if (!isObject(value)) return refused(invalid(`it must be a JSON object, not ${kindOf(value)}`));
  return { ok: true, naming: namingIn(line, value, null) };
}

const mark = Buffer.from("\ufeff");

function withoutMark(line: Buffer): Buffer {
  return line.indexOf(mark) === 0 ? line.subarray(mark.length) : line;
}

/** Whether a line contains only JSON's white space. */
function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
