/**
 * Parses a provider's answer, HTTP/1.1 as in RFC 9112, from the bytes of its connection. It is
 * strict, because a parser that finds another end of an answer than the provider gives one caller's
 * answer to another: no bare line feeds, no folded headers, one length, no other coding than
 * `chunked`. Trailers are checked and dropped.
 *
 * Not here: the socket, and which call an answer belongs to (`connection.ts`).
 */
import { answerHeadBytesMax, chunkExtensionBytesMax } from "../../bounds.js";
import { quotedCharsMax } from "../echo-mask.js";

/** The answer violates HTTP, as this client accepts it. */
class BrokenAnswer extends Error {
  override name = "BrokenAnswer";
}

/** Receives an answer. `onHead` and `onData` return false to pause it. */
export interface AnswerReceiver {
  /** Also called for informational answers, with a status below 200. */
  onHead(status: number, rawHeaders: string[]): boolean;
  onData(chunk: Buffer): boolean;
  onEnd(): void;
}

type State =
  | "head"
  /** A body with a length. */
  | "length"
  /** A body that ends with the connection. */
  | "close"
  | "size"
  | "extension"
  | "sizeEnd"
  | "chunk"
  | "chunkReturn"
  | "chunkEnd"
  | "trailers"
  | "over";

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** Printable characters, spaces, tabs and bytes above ASCII, which are read as Latin-1. */
const text = "[\\t\\x20-\\x7e\\x80-\\xff]*";
const fields = `(?:${token}:${text}\\r\\n)*`;
const headForm = new RegExp(`^HTTP/1\\.[01] [1-9]\\d{2}(?: ${text})?\\r\\n${fields}$`);
const trailersForm = new RegExp(`^${fields}$`);
const quoted = '"(?:[\\t\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e])*"';
const extensionForm = new RegExp(`^(?:;${token}(?:=(?:${token}|${quoted}))?)*$`);
const framingInTrailers = /(?:^|\n)(?:content-length|transfer-encoding):/i;

const noBytes = Buffer.alloc(0);
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const semicolon = 0x3b;

export class AnswerParser {
  /** Whether the connection can carry another request after this answer. */
  keepsAlive = false;
  /** How long the provider keeps an idle connection open; null if it doesn't say. */
  keptAliveMs: number | null = null;
  isPaused = false;
  readonly #receiver: AnswerReceiver;
  #state: State = "over";
  #isHeadRequest = false;
  /** The beginning of a head or of trailers, or bytes that arrived during a pause. */
  #unparsed: Buffer = noBytes;
  /** The missing bytes of the body or of the chunk. */
  #bytesLeft = 0;
  #sizeDigits = 0;
  #extension = "";
  #isEnded = true;
  #isClosed = false;

  constructor(receiver: AnswerReceiver) {
    this.#receiver = receiver;
  }

  /** Whether an answer is expected or arriving. */
  get isReading(): boolean {
    return !this.#isEnded;
  }

  /** Expects the answer to a request. */
  begin(method: string): void {
    this.#state = "head";
    this.#isHeadRequest = method === "HEAD";
    this.#unparsed = noBytes;
    this.#isEnded = false;
    this.isPaused = false;
  }

  /** `bytes` is read and copied, never kept. Throws a `BrokenAnswer`. */
  read(bytes: Buffer): void {
    if (this.isPaused) {
      this.#hold(bytes);
      return;
    }
    let position = 0;
    if (this.#state === "head") {
      position = this.#readHeads(bytes);
      if (position === -1) return;
      if (this.isPaused) return this.#hold(bytes.subarray(position));
    } else if (this.#state === "trailers") return this.#readTrailers(bytes);
    if (this.#state !== "over" && position < bytes.length)
      position = this.#readBody(bytes, position);
    this.#mayEnd(bytes.length - position);
  }

  #hold(bytes: Buffer): void {
    this.#unparsed = Buffer.concat([this.#unparsed, bytes]);
  }

  /** Continues after a pause. Throws a `BrokenAnswer`. */
  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    const unparsed = this.#unparsed;
    this.#unparsed = noBytes;
    if (unparsed.length > 0) this.read(unparsed);
    else this.#mayEnd(0);
    if (this.#isClosed && !this.isPaused) this.close();
  }

  /** The provider has closed the connection. Returns whether the answer is complete. */
  close(): boolean {
    this.#isClosed = true;
    if (this.isPaused) return false;
    if (this.#state === "close") this.#state = "over";
    this.#mayEnd(0);
    return this.#isEnded;
  }

  /** `extra`: bytes after the answer, which belong to no request. */
  #mayEnd(extra: number): void {
    if (this.#state !== "over" || this.#isEnded) return;
    if (extra > 0) this.keepsAlive = false;
    if (this.isPaused) return;
    this.#isEnded = true;
    this.#receiver.onEnd();
  }

  /** Returns where the body begins, or -1 if the head isn't complete yet. */
  #readHeads(received: Buffer): number {
    const unparsedBytes = this.#unparsed.length;
    const bytes = unparsedBytes === 0 ? received : Buffer.concat([this.#unparsed, received]);
    this.#unparsed = noBytes;
    let position = 0;
    while (this.#state === "head" && !this.isPaused) {
      // Some servers send an extra line after a body.
      while (bytes[position] === carriageReturn && bytes[position + 1] === lineFeed) position += 2;
      const end = bytes.indexOf("\r\n\r\n", position, "latin1");
      if ((end === -1 ? bytes.length : end) - position > answerHeadBytesMax)
        throw new BrokenAnswer(`the head of its answer is longer than ${answerHeadBytesMax} bytes`);
      if (end === -1) {
        if (!mayBecomeHead(bytes, position))
          throw malformedAnswer(bytes.toString("latin1", position));
        this.#unparsed = Buffer.from(bytes.subarray(position));
        return -1;
      }
      const head = bytes.toString("latin1", position, end + 2);
      position = end + 4;
      this.#readHead(head);
    }
    return position - unparsedBytes;
  }

  #readHead(head: string): void {
    if (!headForm.test(head)) throw malformedAnswer(head);
    const status = Number(head.slice(9, 12));
    const rawHeaders: string[] = [];
    let connection = "";
    let length = -1;
    let isChunked = false;
    this.keptAliveMs = null;
    for (let position = head.indexOf("\r\n") + 2; position < head.length; ) {
      const colon = head.indexOf(":", position);
      const end = head.indexOf("\r\n", colon);
      const name = head.slice(position, colon);
      const value = valueIn(head, colon + 1, end);
      position = end + 2;
      rawHeaders.push(name, value);
      switch (name.length) {
        case 10: {
          const lower = name.toLowerCase();
          if (lower === "connection") connection += `,${value}`;
          else if (lower === "keep-alive") this.keptAliveMs = readTimeoutMs(value);
          break;
        }
        case 14:
          if (name.toLowerCase() !== "content-length") break;
          if (length !== -1) throw new BrokenAnswer("its answer has two lengths");
          length = readLength(value);
          break;
        case 17:
          if (name.toLowerCase() !== "transfer-encoding") break;
          if (isChunked || value.toLowerCase() !== "chunked")
            throw new BrokenAnswer("its answer has a transfer encoding other than chunked");
          isChunked = true;
          break;
        default:
      }
    }
    if (isChunked && length !== -1)
      throw new BrokenAnswer("its answer has a length and a transfer encoding");
    if (status === 101) throw new BrokenAnswer("it answered 101, which wasn't asked for");
    if (status >= 200) this.#expectBody(status, length, isChunked);
    const isHttp10 = head.charCodeAt(7) === 0x30;
    this.keepsAlive = isHttp10
      ? /,[\t ]*keep-alive[\t ]*(?:,|$)/i.test(connection)
      : connection === "" || !/,[\t ]*close[\t ]*(?:,|$)/i.test(connection);
    // Some servers announce a body with these statuses, which must not have one, and send it.
    const mayHaveBody = (status === 204 || status === 304) && (isChunked || length > 0);
    if (mayHaveBody || this.#state === "close") this.keepsAlive = false;
    if (status < 200 && !this.keepsAlive)
      throw new BrokenAnswer(`it ends the connection with an informational answer`);
    if (!this.#receiver.onHead(status, rawHeaders) && status >= 200) this.isPaused = true;
  }

  #expectBody(status: number, length: number, isChunked: boolean): void {
    if (this.#isHeadRequest) this.#state = "over";
    else if (status === 204 || status === 304) {
      // The length in a 304 is that of the unchanged document.
      if (status === 204 && length > 0) throw new BrokenAnswer("its 204 announces a body");
      this.#state = "over";
    } else if (isChunked) this.#expectSize();
    else if (length === -1) this.#state = "close";
    else {
      this.#bytesLeft = length;
      this.#state = length === 0 ? "over" : "length";
    }
  }

  #expectSize(): void {
    this.#state = "size";
    this.#bytesLeft = 0;
    this.#sizeDigits = 0;
    this.#extension = "";
  }

  /** Returns where the answer ends in `bytes`, or their length. */
  #readBody(bytes: Buffer, position: number): number {
    if (this.#state === "close") {
      this.#pass(Buffer.from(bytes.subarray(position)));
      return bytes.length;
    }
    if (this.#state !== "length") return this.#readChunks(bytes, position);
    const end = Math.min(bytes.length, position + this.#bytesLeft);
    this.#bytesLeft -= end - position;
    if (this.#bytesLeft === 0) this.#state = "over";
    this.#pass(Buffer.from(bytes.subarray(position, end)));
    return end;
  }

  #pass(chunk: Buffer): void {
    if (!this.#receiver.onData(chunk)) this.isPaused = true;
  }

  /** Passes the data of all chunks in `bytes` on as one piece. */
  #readChunks(bytes: Buffer, from: number): number {
    const out = Buffer.allocUnsafe(bytes.length - from);
    let filled = 0;
    let position = from;
    while (position < bytes.length && this.#state !== "trailers") {
      if (this.#state === "chunk") {
        const end = Math.min(bytes.length, position + this.#bytesLeft);
        filled += bytes.copy(out, filled, position, end);
        this.#bytesLeft -= end - position;
        position = end;
        if (this.#bytesLeft === 0) this.#state = "chunkReturn";
      } else this.#readFraming(bytes[position++]!);
    }
    // Sets the state before passing the data on, which may end the call.
    const trailers = this.#state === "trailers" ? bytes.subarray(position) : noBytes;
    if (filled > 0) this.#pass(filled === out.length ? out : out.subarray(0, filled));
    if (this.#state !== "trailers") return position;
    if (this.isPaused) this.#hold(trailers);
    else this.#readTrailers(trailers);
    return bytes.length;
  }

  #readFraming(byte: number): void {
    switch (this.#state) {
      case "size":
        return this.#readSize(byte);
      case "extension":
        if (byte === carriageReturn) return this.#endExtension();
        this.#extension += String.fromCharCode(byte);
        if (this.#extension.length > chunkExtensionBytesMax)
          throw new BrokenAnswer("a chunk of its answer has a long extension");
        return;
      case "sizeEnd":
        expect(byte, lineFeed);
        this.#state = this.#bytesLeft === 0 ? "trailers" : "chunk";
        return;
      case "chunkReturn":
        expect(byte, carriageReturn);
        this.#state = "chunkEnd";
        return;
      default:
        expect(byte, lineFeed);
        this.#expectSize();
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#bytesLeft = this.#bytesLeft * 16 + digit;
      if (++this.#sizeDigits > 16 || !Number.isSafeInteger(this.#bytesLeft))
        throw new BrokenAnswer("a chunk of its answer is too long");
      return;
    }
    if (this.#sizeDigits === 0) throw new BrokenAnswer("a chunk of its answer has no size");
    if (byte === carriageReturn) this.#state = "sizeEnd";
    else if (byte === semicolon) {
      this.#state = "extension";
      this.#extension = ";";
    } else throw new BrokenAnswer("the size of a chunk of its answer isn't a hexadecimal number");
  }

  #endExtension(): void {
    if (!extensionForm.test(this.#extension))
      throw new BrokenAnswer("a chunk of its answer has a malformed extension");
    this.#state = "sizeEnd";
  }

  #readTrailers(received: Buffer): void {
    const bytes =
      this.#unparsed.length === 0 ? received : Buffer.concat([this.#unparsed, received]);
    this.#unparsed = noBytes;
    const hasNone = bytes[0] === carriageReturn && bytes[1] === lineFeed;
    const end = hasNone ? -2 : bytes.indexOf("\r\n\r\n", 0, "latin1");
    if ((end === -1 ? bytes.length : end) > answerHeadBytesMax)
      throw new BrokenAnswer("the trailers of its answer are too long");
    if (end === -1) {
      this.#unparsed = Buffer.from(bytes);
      return;
    }
    const trailers = hasNone ? "" : bytes.toString("latin1", 0, end + 2);
    if (!trailersForm.test(trailers) || framingInTrailers.test(trailers))
      throw new BrokenAnswer("the trailers of its answer are malformed");
    this.#state = "over";
    this.#mayEnd(bytes.length - end - 4);
  }
}

function expect(byte: number, expected: number): void {
  if (byte !== expected) throw new BrokenAnswer("a chunk of its answer doesn't end with its line");
}

/** -1 for any other byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Without the spaces and tabs around it: `trim` would also remove the byte 0xa0. */
function valueIn(head: string, from: number, to: number): string {
  let begin = from;
  let end = to;
  while (begin < end && isBlank(head.charCodeAt(begin))) begin++;
  while (begin < end && isBlank(head.charCodeAt(end - 1))) end--;
  return head.slice(begin, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function readLength(value: string): number {
  const length = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(length))
    throw new BrokenAnswer("its answer has a length that isn't one");
  return length;
}

function readTimeoutMs(value: string): number | null {
  const seconds = /timeout=(\d+)/i.exec(value)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

/**
 * Whether the bytes from `position` on may be the beginning of a head. Another protocol would never
 * end one.
 */
function mayBecomeHead(bytes: Buffer, position: number): boolean {
  const first = bytes.toString("latin1", position, position + firstOfHead.length);
  const lineEnd = bytes.indexOf(lineFeed, position);
  const isLine = lineEnd === -1 || bytes[lineEnd - 1] === carriageReturn;
  return (isLine && firstOfHead.startsWith(first)) || first === "\r";
}

const firstOfHead = "HTTP/1.";

function malformedAnswer(head: string): BrokenAnswer {
  if (head.startsWith(firstOfHead)) return new BrokenAnswer("its answer has a malformed head");
  const first = JSON.stringify(head.slice(0, quotedCharsMax));
  return new BrokenAnswer(`its answer isn't HTTP: it begins with ${first}`);
}
