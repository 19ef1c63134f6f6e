/**
 * The beginning of a stream while another target could take over: it is kept until something of an
 * answer has come, so that a provider which says that it is at work, and then fails, can be
 * replaced. Bounded: what has grown too long goes out, whatever it says.
 */
import { isObject } from "../../shared/assert.js";
import { heldHeadBytesMax } from "../../shared/bounds.js";
import { isErrorEvent } from "../body/error-body.js";
import { parseJson } from "../body/json-value.js";

export class StreamHead {
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  /** The line that the pieces so far have left open. */
  #line = "";
  #begun = false;

  /**
   * Keeps what is to go out. True when it has to go out now: an answer has begun, or this is too
   * much to keep.
   */
  keep(out: Buffer | readonly Buffer[]): boolean {
    for (const piece of Buffer.isBuffer(out) ? [out] : out) this.#read(piece);
    return this.#begun || this.#bytes > heldHeadBytesMax;
  }

  #read(piece: Buffer): void {
    this.#kept.push(piece);
    this.#bytes += piece.length;
    if (this.#begun) return;
    const text = piece.toString("latin1");
    if (!text.includes("\n")) return void (this.#line += text);
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop()!;
    this.#begun = lines.some(isOfAnAnswer);
  }

  /** The stream has ended: whether an answer begins in the line that it left open. */
  end(): boolean {
    return this.#begun || isOfAnAnswer(this.#line);
  }

  /** All that was kept. */
  take(): readonly Buffer[] {
    return this.#kept;
  }

  text(): string {
    return Buffer.concat(this.#kept).toString("latin1");
  }
}

/** What has to be parsed to know. Quotes within a text are escaped, so these are keys or values. */
const doubtful = /"error"|"ping"|"choices"\s*:\s*\[\s*\]/;

/**
 * Not a comment or a ping, nor a chunk without choices, in which Azure tells first what its filter
 * saw of the prompt; nor an error.
 */
function isOfAnAnswer(line: string): boolean {
  if (!line.startsWith("data:")) return false;
  const data = line.slice(5).trim();
  if (data === "" || data === "[DONE]") return false;
  const value = doubtful.test(data) ? parseJson(data) : undefined;
  if (!isObject(value)) return true;
  if (isErrorEvent(value) || value["type"] === "ping") return false;
  const { choices, usage } = value;
  return !Array.isArray(choices) || choices.length > 0 || isObject(usage);
}
