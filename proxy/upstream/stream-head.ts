/**
 * Holds the beginning of a stream while another target could take over, until an answer begins: so
 * a provider that sends keep-alives and then fails can be replaced. Bounded: a beginning that grows
 * too long goes out, whatever is in it.
 */
import { heldHeadBytesMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import { isErrorEvent } from "../body/error-body.js";
import { byteOrderMark } from "../usage/event-reader.js";

export class StreamHead {
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  /** The last line so far, which is incomplete. */
  #line = "";
  #begun = false;

  /**
   * Keeps what is to go out. True when it has to go out now: an answer has begun, or more is kept
   * than may be.
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
    if (!lineEnd.test(text)) {
      this.#line += text;
      return;
    }
    const lines = (this.#line + text).split(lineEnd);
    this.#line = lines.pop()!;
    this.#begun = lines.some(isPartOfAnswer);
  }

  /** The stream has ended: whether an answer has begun, in its last line at the latest. */
  end(): boolean {
    return this.#begun || isPartOfAnswer(this.#line);
  }

  /** All that was kept. */
  take(): readonly Buffer[] {
    return this.#kept;
  }

  text(): string {
    return Buffer.concat(this.#kept).toString("latin1");
  }
}

const lineEnd = /[\r\n]/;

/**
 * Data that must be parsed to know. Quotes within a text are escaped, so these are keys or values.
 */
const maybeNoAnswer = /"error"|"ping"|"choices"\s*:\s*\[\s*\]/;

/**
 * Not a comment or a ping; nor a chunk without choices, such as Azure's first one with its filter's
 * result for the prompt; nor an error.
 */
function isPartOfAnswer(written: string): boolean {
  const line = written.replace(byteOrderMark, "");
  if (!line.startsWith("data:")) return false;
  const data = line.slice(5).trim();
  if (data === "" || data === "[DONE]") return false;
  const value = maybeNoAnswer.test(data) ? parseJson(data) : undefined;
  if (!isObject(value)) return true;
  if (isErrorEvent(value) || value["type"] === "ping") return false;
  const { choices, usage } = value;
  return !Array.isArray(choices) || choices.length > 0 || isObject(usage);
}
