/**
 * Finds the top-level `model` of a JSON object while the object passes, piece by piece, without
 * keeping it. The first one counts. What isn't a JSON object names no model; whether it is
 * well-formed is the provider's to judge.
 */
import { usableModel } from "./passthrough-model.js";

const quote = 0x22;
const backslash = 0x5c;

/** A key or a value that is longer, as it is written, can't be the one that is looked for. */
const textBytesMax = 4 * 1024;

export class ModelScan {
  /** Empty until it is found, and when there is none. */
  model = "";
  /** There is nothing more to be found. */
  over = false;
  #depth = 0;
  /** Within a string. */
  #inText = false;
  #escaped = false;
  /** The string that is being read, as it is written, where it may matter. */
  #text: number[] | null = null;
  /** At the top level: whether the next string is a key. */
  #expectsKey = true;
  #keyIsModel = false;

  push(chunk: Buffer): void {
    for (let i = 0; i < chunk.length && !this.over; i++) {
      const byte = chunk[i]!;
      if (this.#inText) this.#readText(byte);
      else this.#readPlain(byte);
    }
  }

  #readText(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) return this.#endText();
    if (this.#text === null) return;
    this.#text.push(byte);
    if (this.#text.length > textBytesMax) this.#text = null;
  }

  #endText(): void {
    this.#inText = false;
    if (this.#depth !== 1) return;
    const text = this.#text === null ? null : decode(this.#text);
    this.#text = null;
    if (this.#expectsKey) this.#keyIsModel = text === "model";
    else if (this.#keyIsModel) {
      this.model = usableModel(text ?? "");
      this.over = true;
    }
  }

  #readPlain(byte: number): void {
    switch (byte) {
      case quote:
        this.#inText = true;
        if (this.#depth === 0) this.over = true;
        else if (this.#depth === 1 && (this.#expectsKey || this.#keyIsModel)) this.#text = [];
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
    // A control character, or an escape that isn't one: no JSON.
    return null;
  }
}
