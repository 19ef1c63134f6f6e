/**
 * Finds the top-level `model` of a JSON object while the object passes, piece by piece, without
 * keeping the object. It reads to the end of the object: parsers disagree which of two equal keys
 * counts, and some ignore the case of letters. A text that isn't a JSON object names no model; the
 * provider checks whether it is valid.
 */
import { usableModel } from "./passthrough-model.js";

const quote = 0x22;
const backslash = 0x5c;

/** A key or value that is longer as written can't be the model. */
const stringBytesMax = 4 * 1024;

export class ModelScan {
  /** Empty until the model is found, or if there is none. */
  model = "";
  /** The object has several models, so the provider might read another one. */
  isRepeated = false;
  /** Why the text isn't JSON, or null: a lenient parser might find another model in it. */
  problem: string | null = null;
  /** The object has ended, or can't be read. */
  isOver = false;
  #hasSeenModel = false;
  #depth = 0;
  #isInString = false;
  /** The last byte so far escapes the next one. */
  #isAfterBackslash = false;
  /** The current string as written; null if it can't matter. */
  #string: Buffer[] | null = null;
  #stringBytes = 0;
  /** At the top level: whether the next string is a key. */
  #expectsKey = true;
  #isModelKey = false;
  #hasSeenValue = false;

  push(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && !this.isOver; )
      i = this.#isInString ? this.#readString(chunk, i) : this.#readPlain(chunk[i]!, i);
  }

  /** Reads to the end of the string or of the chunk. Long strings make up most of a body. */
  #readString(chunk: Buffer, from: number): number {
    let end = chunk.indexOf(quote, from);
    while (end !== -1 && this.#isEscaped(chunk, from, end)) end = chunk.indexOf(quote, end + 1);
    const to = end === -1 ? chunk.length : end;
    if (this.#string !== null) {
      this.#stringBytes += to - from;
      if (this.#stringBytes > stringBytesMax) this.#string = null;
      else this.#string.push(chunk.subarray(from, to));
    }
    this.#isAfterBackslash = end === -1 && this.#isEscaped(chunk, from, to);
    if (end === -1) return to;
    this.#endString();
    return end + 1;
  }

  /** Whether an odd number of backslashes precedes a position. */
  #isEscaped(chunk: Buffer, from: number, position: number): boolean {
    let start = position;
    while (start > from && chunk[start - 1] === backslash) start--;
    const isEscaped = (position - start) % 2 === 1;
    return start === from && this.#isAfterBackslash ? !isEscaped : isEscaped;
  }

  #endString(): void {
    this.#isInString = false;
    if (this.#depth !== 1) return;
    const string = this.#string === null || this.#isOtherKey() ? null : decode(this.#string);
    this.#string = null;
    if (this.#expectsKey) {
      this.#isModelKey = string?.toLowerCase() === "model";
      if (!this.#isModelKey) return;
      this.isRepeated = this.#hasSeenModel;
      this.isOver = this.#hasSeenModel;
      this.#hasSeenModel = true;
    } else if (this.#isModelKey) {
      // A second value without a comma before it isn't JSON.
      if (this.#hasSeenValue) this.#refuse();
      else this.model = usableModel(string ?? "");
      this.#hasSeenValue = true;
    }
  }

  /** Most keys are of another length than `model`, and have no escapes, so needn't be decoded. */
  #isOtherKey(): boolean {
    if (!this.#expectsKey || this.#stringBytes === "model".length) return false;
    return !this.#string!.some((piece) => piece.includes(backslash));
  }

  #refuse(): void {
    this.problem = "the body must be JSON";
    this.isOver = true;
  }

  #readPlain(byte: number, position: number): number {
    switch (byte) {
      case quote:
        this.#isInString = true;
        if (this.#depth === 0) this.isOver = true;
        else if (this.#depth === 1 && (this.#expectsKey || this.#isModelKey)) {
          this.#string = [];
          this.#stringBytes = 0;
        }
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (this.#depth === 0 && byte === 0x5b) this.isOver = true;
        this.#depth++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        if (--this.#depth <= 0) this.isOver = true;
        break;
      case 0x3a: // :
        if (this.#depth === 1) this.#expectsKey = false;
        break;
      case 0x2c: // ,
        if (this.#depth === 1) {
          this.#expectsKey = true;
          this.#isModelKey = false;
        }
        break;
      // A lenient parser may accept comments and other quotes, which can hide a member.
      case 0x2f: // /
      case 0x23: // #
      case 0x27: // '
        this.#refuse();
        break;
      default:
    }
    return position + 1;
  }
}

function decode(pieces: readonly Buffer[]): string | null {
  const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  const text = bytes.toString("utf8");
  // Without escapes.
  if (/^[\x20-\x5b\x5d-\x7e]*$/.test(text)) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    // A control character or an invalid escape: not JSON.
    return null;
  }
}
