/**
 * Finds the top-level `model` of a JSON object while the object passes, piece by piece, without
 * keeping it. The first one counts. What isn't a JSON object names no model; whether it is valid is
 * the provider's to check.
 */
import { usableModel } from "./passthrough-model.js";

const quote = 0x22;
const backslash = 0x5c;

/** A longer key or value, as it is written, can't be the model. */
const stringBytesMax = 4 * 1024;

export class ModelScan {
  /** Empty until it is found, and when there is none. */
  model = "";
  /** The search has ended. */
  over = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The current string as it is written, if it may matter. */
  #string: number[] | null = null;
  /** At the top level: whether the next string is a key. */
  #expectsKey = true;
  #keyIsModel = false;

  push(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && !this.over; i++) {
      const byte = chunk[i]!;
      if (this.#inString) this.#readString(byte);
      else this.#readPlain(byte);
    }
  }

  #readString(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) return this.#endString();
    if (this.#string === null) return;
    this.#string.push(byte);
    if (this.#string.length > stringBytesMax) this.#string = null;
  }

  #endString(): void {
    this.#inString = false;
    if (this.#depth !== 1) return;
    const string = this.#string === null ? null : decode(this.#string);
    this.#string = null;
    if (this.#expectsKey) this.#keyIsModel = string === "model";
    else if (this.#keyIsModel) {
      this.model = usableModel(string ?? "");
      this.over = true;
    }
  }

  #readPlain(byte: number): void {
    switch (byte) {
      case quote:
        this.#inString = true;
        if (this.#depth === 0) this.over = true;
        else if (this.#depth === 1 && (this.#expectsKey || this.#keyIsModel)) this.#string = [];
        return;
      case 0x7b: // {
      case 0x5b: // [
        if (this.#depth === 0 && byte === 0x5b) this.over = true;
        this.#depth++;
        return;
      case 0x7d: // }
      case 0x5d: // ]
        if (--this.#depth <= 0) this.over = true;
        return;
      case 0x3a: // :
        if (this.#depth === 1) this.#expectsKey = false;
        return;
      case 0x2c: // ,
        if (this.#depth === 1) {
          this.#expectsKey = true;
          this.#keyIsModel = false;
        }
        return;
      default:
    }
  }
}

function decode(bytes: readonly number[]): string | null {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString("utf8")}"`) as string;
  } catch {
    // A control character or an invalid escape: not JSON.
    return null;
  }
}
