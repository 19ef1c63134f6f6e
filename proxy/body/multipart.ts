/**
 * Finds a field's value in a multipart form (RFC 7578) while the form passes, and its position, so
 * that all other bytes can be passed on unchanged. Only the framing of the form is read; the
 * content of the parts is the provider's to check.
 */

/** A field's value and its position, in bytes from the start of the body. */
export interface FieldPlace {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** Bounds of one part's headers, and of a field's value, which is a model's name. */
const partHeaderBytesMax = 16 * 1024;
const valueBytesMax = 4 * 1024;

/** The boundary that a content type names, or null when it isn't a multipart form's. */
export function boundaryOf(contentType: string): string | null {
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(contentType)) return null;
  const found = /;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;",]{1,70})(?=[\s;]|$))/i.exec(contentType);
  return found === null ? null : (found[1] ?? found[2]!);
}

type State = "preamble" | "headers" | "value" | "other" | "end";

export class FieldFinder {
  /** Set once the complete value was found. */
  place: FieldPlace | null = null;
  /** What is wrong with the form; nothing more is read. */
  problem: string | null = null;
  /** The field came more than once: the provider might read the other one. */
  repeated = false;
  /** The end of the form was seen. */
  get ended(): boolean {
    return this.#state === "end";
  }
  readonly #name: string;
  readonly #delimiter: Buffer;
  #state: State = "preamble";
  /**
   * Bytes that were pushed and not read yet, and their position in the body. The first delimiter
   * has no line end before it, so one is made up.
   */
  #pending: Buffer = Buffer.from("\r\n");
  #position = -2;
  #valueStart = 0;
  #values: Buffer[] = [];
  #valueBytes = 0;

  constructor(boundary: string, name: string) {
    this.#name = name;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  push(chunk: Buffer): void {
    if (this.#state === "end" || this.problem !== null) return;
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.problem === null && this.#step());
  }

  /** Reads one element of what is pending; false: more bytes are needed. */
  #step(): boolean {
    if (this.#state === "headers") return this.#readHeaders();
    if (this.#state === "end") return false;
    const found = this.#pending.indexOf(this.#delimiter);
    // What may be the beginning of a delimiter stays pending.
    const bodyBytes =
      found === -1 ? Math.max(0, this.#pending.length - this.#delimiter.length + 1) : found;
    this.#readBody(bodyBytes);
    // The delimiter is followed by two hyphens at the end of the form, else by the end of the line.
    if (found === -1 || this.#pending.length < this.#delimiter.length + 2) return false;
    this.#endPart(this.#position);
    const after = this.#pending.toString(
      "latin1",
      this.#delimiter.length,
      this.#delimiter.length + 2,
    );
    this.#state = after === "--" ? "end" : "headers";
    this.#skip(this.#delimiter.length + (after === "--" ? 2 : 0));
    return true;
  }

  /** Bytes of a part's body. */
  #readBody(bytes: number): void {
    if (this.#state === "value" && bytes > 0) {
      this.#valueBytes += bytes;
      if (this.#valueBytes > valueBytesMax)
        this.problem = `${this.#name} must be at most ${valueBytesMax} bytes`;
      else this.#values.push(this.#pending.subarray(0, bytes));
    }
    this.#skip(bytes);
  }

  #readHeaders(): boolean {
    const end = this.#pending.indexOf("\r\n\r\n");
    if ((end === -1 ? this.#pending.length : end) > partHeaderBytesMax)
      this.problem = `the headers of a part are larger than ${partHeaderBytesMax} bytes`;
    if (end === -1 || this.problem !== null) return false;
    const headers = this.#pending.toString("utf8", 0, end);
    this.#skip(end + 4);
    const isField = fieldName(headers) === this.#name;
    if (isField && this.place !== null) this.repeated = true;
    this.#state = isField ? "value" : "other";
    this.#valueStart = this.#position;
    this.#values = [];
    this.#valueBytes = 0;
    return true;
  }

  #endPart(end: number): void {
    if (this.#state === "value")
      this.place = {
        start: this.#valueStart,
        end,
        value: Buffer.concat(this.#values).toString("utf8"),
      };
  }

  #skip(bytes: number): void {
    this.#pending = this.#pending.subarray(bytes);
    this.#position += bytes;
  }
}

/** The name of a part that is a plain field; null for a file's. */
function fieldName(headers: string): string | null {
  const disposition = /^content-disposition:\s*form-data\b([^\r\n]*)$/im.exec(headers)?.[1] ?? "";
  if (/;\s*filename\*?=/i.test(disposition)) return null;
  const found = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition);
  return found === null ? null : (found[1] ?? found[2]!);
}
