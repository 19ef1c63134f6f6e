/**
 * Finds a field's value and its position in a multipart form (RFC 7578) while the form passes, so
 * that all other bytes pass unchanged. It reads only the framing of the form; the provider checks
 * the content of the parts. A form that servers might read in two ways is refused, because the
 * provider might find another value in it.
 */

/** A field's value and its position, in bytes from the start of the body. */
interface FieldPlace {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** A field in the form, or a field to insert, with the bytes before and after its value. */
export interface FormField extends FieldPlace {
  readonly before?: string;
  readonly after?: string;
}

/** Bounds of one part's headers, and of a field's value, which is a model's name. */
const partHeaderBytesMax = 16 * 1024;
const valueBytesMax = 4 * 1024;

/**
 * The boundary that a content type names. Null if the content type isn't a multipart form's, or is
 * ambiguous.
 */
export function boundaryOf(contentType: string): string | null {
  const parameters = parametersOf(contentType, "multipart/form-data");
  const boundaries = parameters === null ? [] : valuesOf(parameters, "boundary");
  const [boundary] = boundaries;
  return boundaries.length === 1 && /^[^\\]{1,70}$/.test(boundary!) ? boundary! : null;
}

/** Ends each header line, and precedes each boundary. */
const lineEnd = "\r\n";

type State = "start" | "headers" | "value" | "other" | "closing" | "end";

export class FieldFinder {
  /** Set once the value is complete. */
  place: FieldPlace | null = null;
  /** The problem with the form. After a problem nothing more is read. */
  problem: string | null = null;
  /** The field came more than once, so the provider might read the other one. */
  isRepeated = false;
  /** Whether a line end precedes the first boundary. */
  beginsWithLineEnd = false;
  /** Whether the field has begun; its value may follow. */
  get begun(): boolean {
    return this.place !== null || this.#state === "value";
  }
  /** Whether the form has ended. */
  get ended(): boolean {
    return this.#state === "closing" || this.#state === "end";
  }
  readonly #name: string;
  readonly #delimiter: Buffer;
  #state: State = "start";
  /**
   * The pushed bytes that haven't been read yet, and their position in the body. No line end
   * precedes the first delimiter, so the buffer starts with one.
   */
  #pending: Buffer = Buffer.from(lineEnd);
  #position = -lineEnd.length;
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

  /** Reads one element of the pending bytes. Returns false if it needs more bytes. */
  #step(): boolean {
    if (this.#state === "headers") return this.#readHeaders();
    if (this.#state === "closing") return this.#readClosing();
    if (this.#state === "end") return false;
    const delimiterAt = this.#pending.indexOf(this.#delimiter);
    if (this.#state === "start" && !this.#beginsAt(delimiterAt)) return false;
    // The possible beginning of a delimiter stays pending.
    const bodyBytes =
      delimiterAt === -1
        ? Math.max(0, this.#pending.length - this.#delimiter.length + 1)
        : delimiterAt;
    this.#readBody(bodyBytes);
    // Two hyphens follow the delimiter at the end of the form, otherwise a line end.
    if (delimiterAt === -1 || this.#pending.length < this.#delimiter.length + 2) return false;
    this.#endPart(this.#position);
    const after = this.#pending.toString(
      "latin1",
      this.#delimiter.length,
      this.#delimiter.length + 2,
    );
    if (after !== "--" && after !== lineEnd)
      this.problem = "its boundary is followed by something else than the end of the line";
    this.#state = after === "--" ? "closing" : "headers";
    this.#skip(this.#delimiter.length + (after === "--" ? 2 : 0));
    return this.problem === null;
  }

  /** At most a line end may precede the first boundary. */
  #beginsAt(position: number): boolean {
    this.beginsWithLineEnd = position === lineEnd.length;
    if (position === 0 || position === lineEnd.length) return true;
    if (position !== -1 || this.#pending.length >= this.#delimiter.length + lineEnd.length)
      this.problem = "it doesn't begin with its boundary";
    return false;
  }

  /** Bytes after the form's end are ignored, once the end is certain. */
  #readClosing(): boolean {
    if (!lineEnd.startsWith(this.#pending.toString("latin1", 0, lineEnd.length)))
      this.problem = "its last boundary is followed by something else than the end of the line";
    else if (this.#pending.length >= lineEnd.length) this.#state = "end";
    return false;
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
    const part = readPart(this.#pending.toString("utf8", 0, end), this.#name);
    this.#skip(end + 4);
    if (part.problem !== null) {
      this.problem = part.problem;
      return false;
    }
    if (part.isField && this.place !== null) this.isRepeated = true;
    this.#state = part.isField ? "value" : "other";
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

/** The field to insert at the beginning of a form that lacks it. */
export function newField(
  name: string,
  boundary: string,
  { beginsWithLineEnd }: Pick<FieldFinder, "beginsWithLineEnd">,
): FormField {
  const before = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`;
  return { start: 0, end: 0, value: "", before, after: beginsWithLineEnd ? "" : lineEnd };
}

interface Part {
  /** Whether this part is the wanted field. */
  readonly isField: boolean;
  /** What makes the part ambiguous; null if nothing does. */
  readonly problem: string | null;
}

const otherPart: Part = { isField: false, problem: null };

function unclearPart(problem: string): Part {
  return { isField: false, problem };
}

/** `headers`: each header line follows a line end. */
function readPart(headers: string, fieldName: string): Part {
  const lines = headers.split(lineEnd).slice(1);
  if (lines.some((line) => !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*$/.test(line)))
    return unclearPart("the headers of a part can't be read");
  const [disposition, ...repeated] = valuesOfHeader(lines, "content-disposition");
  if (disposition === undefined) return otherPart;
  const parameters = repeated.length > 0 ? null : parametersOf(disposition, "form-data");
  const names = parameters === null ? [] : valuesOf(parameters, "name");
  if (parameters === null || names.length !== 1)
    return unclearPart("the content-disposition of a part can't be read");
  const [name] = names as [string];
  if (plainName(name) !== fieldName) return otherPart;
  if (name !== fieldName || !hasName(parameters, "name"))
    return unclearPart(`${JSON.stringify(name)} is given: the field is called ${fieldName}`);
  if (valuesOf(parameters, "filename").length > 0)
    return unclearPart(`${fieldName} must be a field, not a file`);
  return isPlainText(lines)
    ? { isField: true, problem: null }
    : unclearPart(`${fieldName} must be plain text in UTF-8`);
}

function valuesOfHeader(lines: readonly string[], name: string): readonly string[] {
  return lines
    .filter((line) => line.slice(0, line.indexOf(":")).toLowerCase() === name)
    .map((line) => line.slice(name.length + 1));
}

function hasName(parameters: HeaderParameters, name: string): boolean {
  return parameters.some(([key]) => key === name);
}

/** The name as lenient servers may read it. */
function plainName(name: string): string {
  const unquotedName = name.replace(/^[\w-]+'[\w-]*'/, "").replace(/\\(.)/g, "$1");
  const plain = unquotedName.replace(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
  return plain
    .trim()
    .replace(/(?:\[\])+$/, "")
    .toLowerCase();
}

/** Whether no header gives the part's text another encoding. */
function isPlainText(lines: readonly string[]): boolean {
  const encodings = valuesOfHeader(lines, "content-transfer-encoding");
  const types = valuesOfHeader(lines, "content-type");
  return (
    encodings.every((encoding) => /^\s*(?:7bit|8bit|binary)\s*$/i.test(encoding)) &&
    types.every((type) => /^[^;]*(?:;\s*charset="?(?:utf-8|us-ascii)"?\s*)?$/i.test(type))
  );
}

/** Names in lower case, in order of appearance. A name may appear more than once. */
type HeaderParameters = readonly (readonly [name: string, value: string])[];

/** A parameter with an unquoted value, or with a quoted one whose escapes stay unchanged. */
const parameter =
  /[ \t]*;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\\r\n]|\\[^\r\n])*)"|([^\s;",]+))/y;

/**
 * Null if the header has another value or ambiguous parameters. Follows the grammar strictly (RFC
 * 9110 section 5.6.6), since two servers might read anything else differently.
 */
function parametersOf(header: string, value: string): HeaderParameters | null {
  const text = header.trim();
  if (text.slice(0, value.length).toLowerCase() !== value) return null;
  const parameters: (readonly [string, string])[] = [];
  let position = value.length;
  while (position < text.length) {
    parameter.lastIndex = position;
    const match = parameter.exec(text);
    if (match === null) return /^[ \t]*;$/.test(text.slice(position)) ? parameters : null;
    parameters.push([match[1]!.toLowerCase(), match[2] ?? match[3]!]);
    position = parameter.lastIndex;
  }
  return parameters;
}

/** The values of a parameter written as `name=` or, with RFC 5987, as `name*=`. */
function valuesOf(parameters: HeaderParameters, name: string): readonly string[] {
  return parameters
    .filter(([key]) => key === name || key.startsWith(`${name}*`))
    .map(([, value]) => value);
}
