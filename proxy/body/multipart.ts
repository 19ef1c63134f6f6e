/**
 * Finds a field's value in a multipart form (RFC 7578) while the form passes, by its place, so that
 * the bytes around it can go on as they came. The form is read only as far as its framing; what is
 * in the parts is the provider's business.
 */

/** Where a field's value stands, in bytes from the start of the body. */
export interface FieldPlace {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** The headers of one part; and a field's value, which is a model's name. */
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
  /** Once it has been found whole. */
  place: FieldPlace | null = null;
  /** What is wrong with the form; it is read no further. */
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
   * Bytes that were pushed and not read yet, and where they begin. The first delimiter has no line
   * before it, so one is made up.
   */
  #pending: Buffer = Buffer.from("\r\n");
  #at = -2;
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

  /** Reads on as far as what is pending tells; false: more is needed. */
  #step(): boolean {
    if (this.#state === "headers") return this.#readHeaders();
    if (this.#state === "end") return false;
    const found = this.#pending.indexOf(this.#delimiter);
    // What may be the beginning of a delimiter stays.
    const text =
      found === -1 ? Math.max(0, this.#pending.length - this.#delimiter.length + 1) : found;
    // Behind the boundary stand two hyphens at the end of the form, else the line's end.
    if (found !== -1 && this.#pending.length < found + this.#delimiter.length + 2)
      return this.#pass(text);
    if (found === -1) return this.#pass(text);
    this.#pass(text);
    this.#endPart(this.#at);
    const after = this.#pending.toString(
      "latin1",
      this.#delimiter.length,
      this.#delimiter.length + 2,
    );
    this.#state = after === "--" ? "end" : "headers";
    this.#skip(this.#delimiter.length + (after === "--" ? 2 : 0));
    return true;
  }

  /** Bytes of the part's body. Always false: what follows is another matter. */
  #pass(bytes: number): false {
    if (this.#state === "value" && bytes > 0) {
      this.#valueBytes += bytes;
      if (this.#valueBytes > valueBytesMax)
        this.problem = `${this.#name} must be at most ${valueBytesMax} bytes`;
      else this.#values.push(this.#pending.subarray(0, bytes));
    }
    this.#skip(bytes);
    return false;
  }

  #readHeaders(): boolean {
    const end = this.#pending.indexOf("\r\n\r\n");
    if ((end === -1 ? this.#pending.length : end) > partHeaderBytesMax)
      this.problem = `the headers of a part are larger than ${partHeaderBytesMax} bytes`;
    if (end === -1 || this.problem !== null) return false;
    const headers = this.#pending.toString("utf8", 0, end);
    this.#skip(end + 4);
    // The line's end that closed the headers also begins the delimiter of an empty part.
    const isField = fieldName(headers) === this.#name;
    if (isField && this.place !== null) this.repeated = true;
    this.#state = isField ? "value" : "other";
    this.#valueStart = this.#at;
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
    this.#at += bytes;
  }
}

/** The name of a part that is a plain field; null for a file's. */
function fieldName(headers: string): string | null {
  const disposition = /^content-disposition:\s*form-data\b([^\r\n]*)$/im.exec(headers)?.[1] ?? "";
  if (/;\s*filename\*?=/i.test(disposition)) return null;
  const found = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition);
  return found === null ? null : (found[1] ?? found[2]!);
}
