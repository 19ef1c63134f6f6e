/**
 * Picks single members out of a JSON text that is too large to keep, while the text passes. It
 * finds members by their place in the structure, so the same names elsewhere, or within strings,
 * don't match. The result is JSON of the same shape without the other members.
 *
 * Not here: which members to pick (`usage/find-usage.ts`), and what they mean. Beyond its structure
 * the text isn't validated.
 */
import { parseJson } from "../../shared/checked.js";

/**
 * The members to pick from an object, or from each object of a list, by name: all of a member's
 * value, or parts of it.
 */
export type Picks = ReadonlyMap<string, "all" | Picks>;

/**
 * No provider's figures are nested deeper. The bound protects code that reads the result
 * recursively.
 */
const pickedDepthMax = 100;

/** The characters of everything that is picked: a usage takes some 500. */
const pickedCharsMax = 1024 * 1024;
/** The longest string that is picked by itself; a longer one becomes `longString`. */
const stringCharsMax = 1024;
const longString = '"*"';
/** An escaped character takes six. */
const nameCharsMax = 128;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/** Marks the quote and the brackets; the picker skips all other bytes. */
const marks = new Uint8Array(256);
for (const code of [quote, openBracket, openBrace, closeBracket, closeBrace]) marks[code] = 1;

/**
 * How many bytes of a string to read one by one: a call that searches for the end costs as much.
 * After an escaped quote, read more of them, because code in a string has many.
 */
const bytesNearby = 64;
const bytesNearbyEscapes = 1024;

/** An object or a list of which only some members are picked. */
interface Open {
  readonly isList: boolean;
  readonly picks: Picks;
  isEmpty: boolean;
}

/** What the next character can be, between the tokens of an object, a list, or the whole text. */
type Expected = "value" | "item" | "name" | "colon" | "comma" | "end";

/** What the next character is part of. */
type Part = "space" | "name" | "string" | "literal" | "nested";

export class JsonPicker {
  /**
   * The characters, as written, of strings that are text of an answer. Such a string is picked as
   * an empty one.
   */
  textChars = 0;
  readonly #texts: ReadonlySet<string> | null;
  /** What is picked so far. Null if the text isn't JSON, or if too much would be picked. */
  #picked: string | null = "";
  readonly #open: Open[] = [];
  #part: Part = "space";
  #expected: Expected = "value";
  /** What to pick of the next value; null to skip it. */
  #pick: "all" | Picks | null;
  /** The open name, string or literal; null if it is skipped. */
  #token: string | null = "";
  /** Within a string, the last character was a backslash that escapes the next one. */
  #isEscaped = false;
  /** The depth within a value that is picked or skipped as a whole. */
  #depth = 0;
  #isInNestedString = false;
  /** The last string that may be a name; null if it is too long. */
  #name: string | null = "";
  #isText = false;
  #isAfterColon = false;

  /**
   * `texts`: the names of members whose strings are text of an answer, at any depth; null to count
   * no text.
   */
  constructor(picks: Picks, texts: ReadonlySet<string> | null = null) {
    this.#pick = picks;
    this.#texts = texts;
  }

  append(bytes: Buffer): void {
    let position = 0;
    while (position < bytes.length && this.#picked !== null) position = this.#read(bytes, position);
  }

  /**
   * What was picked of a complete text. Undefined if the text isn't JSON, or too much was picked.
   */
  value(): unknown {
    if (this.#part === "literal" && this.#open.length === 0) this.#endLiteral();
    return this.#picked !== null && this.#expected === "end" ? parseJson(this.#picked) : undefined;
  }

  #read(bytes: Buffer, position: number): number {
    switch (this.#part) {
      case "space":
        return this.#readSpace(bytes, position);
      case "name":
      case "string":
        return this.#readString(bytes, position);
      case "literal":
        return this.#readLiteral(bytes, position);
      case "nested":
        return this.#readNested(bytes, position);
    }
  }

  #readSpace(bytes: Buffer, position: number): number {
    const code = bytes[position]!;
    if (isSpace(code)) return position + 1;
    const open = this.#open.at(-1);
    const isClosing = open !== undefined && code === (open.isList ? closeBracket : closeBrace);
    switch (this.#expected) {
      case "value":
        return this.#beginValue(code, position);
      case "item":
        if (!isClosing) return this.#beginValue(code, position);
        break;
      case "name":
        if (code === quote) return this.#beginString("name", "", position);
        break;
      case "colon":
        if (code !== colon) return this.#fail(position);
        this.#expected = "value";
        return position + 1;
      case "comma":
        if (code !== comma) break;
        this.#expected = open!.isList ? "value" : "name";
        if (open!.isList) this.#pick = open!.picks;
        return position + 1;
      case "end":
        break;
    }
    if (!isClosing) return this.#fail(position);
    this.#open.pop();
    this.#put(open.isList ? "]" : "}");
    this.#endValue();
    return position + 1;
  }

  #beginValue(code: number, position: number): number {
    const pick = this.#pick;
    if (pick !== null) this.#putComma();
    if (code === quote) return this.#beginString("string", pick === null ? null : "", position);
    if (code !== openBrace && code !== openBracket) {
      if (code === comma || code === colon || marks[code] === 1) return this.#fail(position);
      this.#part = "literal";
      this.#token = pick === null ? null : "";
      return position;
    }
    if (pick === null || pick === "all") {
      this.#part = "nested";
      this.#depth = 0;
      this.#name = "";
      return position;
    }
    const isList = code === openBracket;
    this.#put(isList ? "[" : "{");
    this.#open.push({ isList, picks: pick, isEmpty: true });
    if (this.#open.length > pickedDepthMax) this.#picked = null;
    this.#expected = isList ? "item" : "name";
    return position + 1;
  }

  /**
   * Puts the comma before an item of a list. A member of an object gets its comma before its name.
   */
  #putComma(): void {
    const open = this.#open.at(-1);
    if (open?.isList !== true) return;
    // A stream may be one list: keep only its last event.
    if (this.#open.length === 1 && !open.isEmpty) this.#picked = "[";
    else if (!open.isEmpty) this.#put(",");
    open.isEmpty = false;
  }

  #beginString(part: "name" | "string", token: string | null, position: number): number {
    this.#part = part;
    this.#token = token;
    this.#isEscaped = false;
    if (part === "string") this.#isText = this.#texts !== null && this.#isTextName();
    return position + 1;
  }

  #isTextName(): boolean {
    return this.#name !== null && this.#texts!.has(this.#name);
  }

  #readString(bytes: Buffer, position: number): number {
    const end = this.#stringEnd(bytes, position);
    const stop = end === -1 ? bytes.length : end;
    const max = this.#part === "name" ? nameCharsMax : stringCharsMax;
    if (this.#token !== null)
      this.#token =
        this.#token.length + stop - position > max
          ? null
          : this.#token + bytes.toString("latin1", position, stop);
    if (this.#part === "string" && this.#isText) this.textChars += stop - position;
    if (end === -1) return stop;
    if (this.#part === "name") this.#endName();
    else {
      if (this.#pick !== null) this.#put(this.#pickedString());
      this.#endValue();
    }
    return end + 1;
  }

  #pickedString(): string {
    if (this.#isText) return '""';
    return this.#token === null ? longString : `"${this.#token}"`;
  }

  #endName(): void {
    const name = this.#token === null ? null : nameOf(this.#token);
    const open = this.#open.at(-1)!;
    this.#name = name;
    this.#pick = name === null ? null : (open.picks.get(name) ?? null);
    if (this.#pick !== null) {
      this.#put(`${open.isEmpty ? "" : ","}"${name}":`);
      open.isEmpty = false;
    }
    this.#part = "space";
    this.#expected = "colon";
  }

  #readLiteral(bytes: Buffer, position: number): number {
    let end = position;
    while (end < bytes.length && !endsLiteral(bytes[end]!)) end++;
    if (this.#token !== null)
      this.#token = (this.#token + bytes.toString("latin1", position, end)).slice(
        0,
        stringCharsMax,
      );
    if (end < bytes.length) this.#endLiteral();
    return end;
  }

  #endLiteral(): void {
    if (this.#token !== null) this.#put(this.#token);
    this.#endValue();
  }

  #endValue(): void {
    this.#part = "space";
    this.#expected = this.#open.length === 0 ? "end" : "comma";
  }

  /** The fast path, which reads most of a text. */
  #readNested(bytes: Buffer, from: number): number {
    let position = from;
    let depth = this.#depth;
    do {
      if (this.#isInNestedString) {
        const end = this.#stringEnd(bytes, position);
        if (this.#texts !== null) this.#readNestedString(bytes, position, end);
        this.#isInNestedString = end === -1;
        position = end === -1 ? bytes.length : end + 1;
      }
      while (position < bytes.length && marks[bytes[position]!] === 0) position++;
      if (position === bytes.length) break;
      const code = bytes[position]!;
      if (code === quote) {
        this.#isInNestedString = true;
        if (this.#texts !== null) this.#beginNestedString(bytes, position, from);
      } else depth += code === openBrace || code === openBracket ? 1 : -1;
      if (depth > pickedDepthMax && this.#pick === "all") {
        this.#picked = null;
        return bytes.length;
      }
      position++;
    } while (depth > 0 && position < bytes.length);
    this.#depth = depth;
    if (this.#texts !== null && !this.#isInNestedString) this.#noteColon(bytes, position, from);
    if (this.#pick === "all") this.#put(bytes.toString("latin1", from, position));
    if (depth === 0 && !this.#isInNestedString) this.#endValue();
    return position;
  }

  /** A string after a colon is a value; any other string may be the name of the next value. */
  #beginNestedString(bytes: Buffer, position: number, from: number): void {
    this.#noteColon(bytes, position, from);
    this.#isText = this.#isAfterColon && this.#isTextName();
    if (!this.#isAfterColon) this.#name = "";
  }

  #readNestedString(bytes: Buffer, position: number, end: number): void {
    const stop = end === -1 ? bytes.length : end;
    if (this.#isText) this.textChars += stop - position;
    else if (!this.#isAfterColon && this.#name !== null)
      this.#name =
        this.#name.length + stop - position > nameCharsMax
          ? null
          : this.#name + bytes.toString("latin1", position, stop);
    if (end !== -1) this.#isAfterColon = false;
  }

  /** Notes whether the last character before `position`, apart from white space, is a colon. */
  #noteColon(bytes: Buffer, position: number, from: number): void {
    let last = position - 1;
    while (last >= from && isSpace(bytes[last]!)) last--;
    if (last >= from) this.#isAfterColon = bytes[last]! === colon;
  }

  /** The position of the quote that ends the open string, or -1. */
  #stringEnd(bytes: Buffer, from: number): number {
    let position = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    for (let nearby = bytesNearby; ; nearby = bytesNearbyEscapes) {
      const until = Math.min(position + nearby, bytes.length);
      while (position < until) {
        const code = bytes[position]!;
        if (code === quote) return position;
        position += code === backslash ? 2 : 1;
      }
      if (position >= bytes.length) {
        this.#isEscaped = position > bytes.length;
        return -1;
      }
      const next = bytes.indexOf(quote, position);
      const isEscaped = endsEscaping(bytes, position, next === -1 ? bytes.length : next);
      if (next === -1) {
        this.#isEscaped = isEscaped;
        return -1;
      }
      if (!isEscaped) return next;
      position = next + 1;
    }
  }

  #put(text: string): void {
    if (this.#picked === null) return;
    this.#picked += text;
    if (this.#picked.length > pickedCharsMax) this.#picked = null;
  }

  #fail(position: number): number {
    this.#picked = null;
    return position;
  }
}

function nameOf(raw: string): string | null {
  if (!raw.includes("\\")) return raw;
  const name = parseJson(`"${raw}"`);
  return typeof name === "string" ? name : null;
}

/** Whether the part of a string from `start` to `end` ends in a backslash that isn't escaped. */
function endsEscaping(bytes: Buffer, start: number, end: number): boolean {
  let first = end;
  while (first > start && bytes[first - 1] === backslash) first--;
  return ((end - first) & 1) === 1;
}

function endsLiteral(code: number): boolean {
  return code === comma || isSpace(code) || marks[code] === 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
