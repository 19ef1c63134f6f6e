/**
 * Holds the beginning of a stream until an answer begins, so that another target can replace a
 * provider that sends keep-alives and then fails. The size is bounded: a longer beginning is sent,
 * whatever it contains.
 */
import { heldHeadBytesMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import { isErrorEvent } from "../body/error-body.js";
import { byteOrderMark } from "../usage/event-reader.js";

export class StreamHead {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** The last, incomplete line. */
  #line = "";
  #hasBegun = false;

  /**
   * Adds pieces to the held ones. True if all must be sent now: an answer has begun, or the bound
   * is exceeded.
   */
  keep(out: Buffer | readonly Buffer[]): boolean {
    for (const piece of Buffer.isBuffer(out) ? [out] : out) this.#read(piece);
    return this.#hasBegun || this.#bytes > heldHeadBytesMax;
  }

  #read(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#hasBegun) return;
    const text = piece.toString("latin1");
    if (!lineEnd.test(text)) {
      this.#line += text;
      return;
    }
    const lines = (this.#line + text).split(lineEnd);
    this.#line = lines.pop()!;
    this.#hasBegun = lines.some(isPartOfAnswer);
  }

  /** Ends the stream. True if an answer has begun, at the latest in the last line. */
  end(): boolean {
    return this.#hasBegun || isPartOfAnswer(this.#line);
  }

  /** All kept pieces. */
  take(): readonly Buffer[] {
    return this.#pieces;
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString("latin1");
  }
}

const lineEnd = /[\r\n]/;

/**
 * Matches data that must be parsed to tell whether an answer has begun. Quotes within a text are
 * escaped, so the matches are keys or values.
 */
const maybeNoAnswer = /"error"|"ping"|"choices"\s*:\s*\[\s*\]/;

/**
 * False for a comment, a ping, an error, and a chunk without choices, such as Azure's first one
 * with its filter's result for the prompt.
 */
function isPartOfAnswer(text: string): boolean {
  const line = text.replace(byteOrderMark, "");
  if (!line.startsWith("data:")) return false;
  const data = line.slice(5).trim();
  if (data === "" || data === "[DONE]") return false;
  const value = maybeNoAnswer.test(data) ? parseJson(data) : undefined;
  if (!isObject(value)) return true;
  if (isErrorEvent(value) || value["type"] === "ping") return false;
  const { choices, usage } = value;
  return !Array.isArray(choices) || choices.length > 0 || isObject(usage);
}
