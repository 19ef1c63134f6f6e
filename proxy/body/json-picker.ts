/**
 * Reads single members of a JSON text that is too large to be kept, while it passes, at their
 * places in its structure: whatever else the text holds, as keys or within strings, is no such
 * member. What is picked is JSON of the same shape, with the other members left out.
 *
 * Not here: which members (`usage/find-usage.ts`), and what they mean. The text isn't validated
 * beyond its structure.
 */
import { parseJson } from "../../shared/checked.js";

/**
 * The members that are picked of an object, or of each object of a list, by their names: all of a
 * member's value, or what is picked of that.
 */
export type Picks = ReadonlyMap<string, "all" | Picks>;

/** No provider's figures are nested deeper; what is read recursively mustn't be. */
const pickedDepthMax = 100;

/** Of what is picked: a usage takes some 500 bytes. */
const pickedCharsMax = 1024 * 1024;
/** Of a picked string that isn't part of a larger value; a longer one becomes `longString`. */
const stringCharsMax = 1024;
const longString = '"*"';
/** A name can take six characters for each of its own. */
const nameCharsMax = 128;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/** By byte: the quote and the brackets, for which everything else is skipped. */
const marks = new Uint8Array(256);
for (const code of [quote, openBracket, openBrace, closeBracket, closeBrace]) marks[code] = 1;

/**
 * So many bytes of a string are read one by one: a call that searches for its end costs as much.
 * After an escaped quote, as code in a string has many, more of them.
 */
const bytesNearby = 64;
const bytesNearbyEscapes = 1024;

/** An object or a list that isn't picked as a whole, but member by member. */
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
   * The characters in strings that are text of an answer, as they are written; such a string is
   * picked as an empty one.
   */
  textChars = 0;
  readonly #texts: ReadonlySet<string> | null;
  /** What is picked so far; null if the text isn't JSON, or too much of it would be picked. */
  #picked: string | null = "";
  readonly #open: Open[] = [];
  #part: Part = "space";
  #expected: Expected = "value";
  /** Of the next value; null if it is skipped. */
  #pick: "all" | Picks | null;
  /** The open name, string or literal; null if it isn't kept. */
  #token: string | null = "";
  /** Within a string, the last character was a backslash that escapes the next one. */
  #escaped = false;
  /** How deep a value is nested that is picked or skipped as a whole. */
  #depth = 0;
  #inNestedString = false;
  /** The last string that may be a name, if it is known whether its value is text. */
  #name: string | null = "";
  #isText = false;
  #afterColon = false;

  /**
   * `texts`: the names of members whose strings are text of an answer, wherever they are; null:
   * none is counted.
   */
  constructor(picks: Picks, texts: ReadonlySet<string> | null = null) {
    this.#pick = picks;
    this.#texts = texts;
  }

  append(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && this.#picked !== null) at = this.#read(bytes, at);
  }

  /** What was picked of a complete text; undefined: it is no JSON, or it would be too much. */
  value(): unknown {
    if (this.#part === "literal" && this.#open.length === 0) this.#endLiteral();
    return this.#picked !== null && this.#expected === "end" ? parseJson(this.#picked) : undefined;
  }

  #read(bytes: Buffer, at: number): number {
    switch (this.#part) {
      case "space":
        return this.#readSpace(bytes, at);
      case "name":
      case "string":
        return this.#readString(bytes, at);
      case "literal":
        return this.#readLiteral(bytes, at);
      case "nested":
        return this.#readNested(bytes, at);
    }
  }

  #readSpace(bytes: Buffer, at: number): number {
    const code = bytes[at]!;
    if (isSpace(code)) return at + 1;
    const open = this.#open.at(-1);
    const isClosing = open !== undefined && code === (open.isList ? closeBracket : closeBrace);
    switch (this.#expected) {
      case "value":
        return this.#beginValue(code, at);
      case "item":
        if (!isClosing) return this.#beginValue(code, at);
        break;
      case "name":
        if (code === quote) return this.#beginString("name", "", at);
        break;
      case "colon":
        if (code !== colon) return this.#fail(at);
        this.#expected = "value";
        return at + 1;
      case "comma":
        if (code !== comma) break;
        this.#expected = open!.isList ? "value" : "name";
        if (open!.isList) this.#pick = open!.picks;
        return at + 1;
      case "end":
        break;
    }
    if (!isClosing) return this.#fail(at);
    this.#open.pop();
    this.#put(open.isList ? "]" : "}");
    this.#endValue();
    return at + 1;
  }

  #beginValue(code: number, at: number): number {
    const pick = this.#pick;
    if (pick !== null) this.#putComma();
    if (code === quote) return this.#beginString("string", pick === null ? null : "", at);
    if (code !== openBrace && code !== openBracket) {
      if (code === comma || code === colon || marks[code] === 1) return this.#fail(at);
      this.#part = "literal";
      this.#token = pick === null ? null : "";
      return at;
    }
    if (pick === null || pick === "all") {
      this.#part = "nested";
      this.#depth = 0;
      this.#name = "";
      return at;
    }
    const isList = code === openBracket;
    this.#put(isList ? "[" : "{");
    this.#open.push({ isList, picks: pick, isEmpty: true });
    if (this.#open.length > pickedDepthMax) this.#picked = null;
    this.#expected = isList ? "item" : "name";
    return at + 1;
  }

  /** Before an item of a list; a member has it before its name. */
  #putComma(): void {
    const open = this.#open.at(-1);
    if (open?.isList !== true) return;
    // Of a stream that is one list only the last event counts.
    if (this.#open.length === 1 && !open.isEmpty) this.#picked = "[";
    else if (!open.isEmpty) this.#put(",");
    open.isEmpty = false;
  }

  #beginString(part: "name" | "string", token: string | null, at: number): number {
    this.#part = part;
    this.#token = token;
    this.#escaped = false;
    if (part === "string") this.#isText = this.#texts !== null && this.#isTextName();
    return at + 1;
  }

  #isTextName(): boolean {
    return this.#name !== null && this.#texts!.has(this.#name);
  }

  #readString(bytes: Buffer, at: number): number {
    const end = this.#stringEnd(bytes, at);
    const stop = end === -1 ? bytes.length : end;
    const max = this.#part === "name" ? nameCharsMax : stringCharsMax;
    if (this.#token !== null)
      this.#token =
        this.#token.length + stop - at > max
          ? null
          : this.#token + bytes.toString("latin1", at, stop);
    if (this.#part === "string" && this.#isText) this.textChars += stop - at;
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

  #readLiteral(bytes: Buffer, at: number): number {
    let end = at;
    while (end < bytes.length && !endsLiteral(bytes[end]!)) end++;
    if (this.#token !== null)
      this.#token = (this.#token + bytes.toString("latin1", at, end)).slice(0, stringCharsMax);
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

  /** The quick one: what most of a text is. */
  #readNested(bytes: Buffer, from: number): number {
    let at = from;
    let depth = this.#depth;
    do {
      if (this.#inNestedString) {
        const end = this.#stringEnd(bytes, at);
        if (this.#texts !== null) this.#readNestedString(bytes, at, end);
        this.#inNestedString = end === -1;
        at = end === -1 ? bytes.length : end + 1;
      }
      while (at < bytes.length && marks[bytes[at]!] === 0) at++;
      if (at === bytes.length) break;
      const code = bytes[at]!;
      if (code === quote) {
        this.#inNestedString = true;
        if (this.#texts !== null) this.#beginNestedString(bytes, at, from);
      } else depth += code === openBrace || code === openBracket ? 1 : -1;
      if (depth > pickedDepthMax && this.#pick === "all") {
        this.#picked = null;
        return bytes.length;
      }
      at++;
    } while (depth > 0 && at < bytes.length);
    this.#depth = depth;
    if (this.#texts !== null && !this.#inNestedString) this.#noteColon(bytes, at, from);
    if (this.#pick === "all") this.#put(bytes.toString("latin1", from, at));
    if (depth === 0 && !this.#inNestedString) this.#endValue();
    return at;
  }

  /** A string after a colon is a value; another one may be the name of the next. */
  #beginNestedString(bytes: Buffer, at: number, from: number): void {
    this.#noteColon(bytes, at, from);
    this.#isText = this.#afterColon && this.#isTextName();
    if (!this.#afterColon) this.#name = "";
  }

  #readNestedString(bytes: Buffer, at: number, end: number): void {
    const stop = end === -1 ? bytes.length : end;
    if (this.#isText) this.textChars += stop - at;
    else if (!this.#afterColon && this.#name !== null)
      this.#name =
        this.#name.length + stop - at > nameCharsMax
          ? null
          : this.#name + bytes.toString("latin1", at, stop);
    if (end !== -1) this.#afterColon = false;
  }

  /** Notes whether the last character before `at` that is no space is a colon. */
  #noteColon(bytes: Buffer, at: number, from: number): void {
    let last = at - 1;
    while (last >= from && isSpace(bytes[last]!)) last--;
    if (last >= from) this.#afterColon = bytes[last]! === colon;
  }

  /** The position of the quote that ends the open string, or -1. */
  #stringEnd(bytes: Buffer, from: number): number {
    let at = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    for (let nearby = bytesNearby; ; nearby = bytesNearbyEscapes) {
      const until = Math.min(at + nearby, bytes.length);
      while (at < until) {
        const code = bytes[at]!;
        if (code === quote) return at;
        at += code === backslash ? 2 : 1;
      }
      if (at >= bytes.length) {
        this.#escaped = at > bytes.length;
        return -1;
      }
      const next = bytes.indexOf(quote, at);
      const isEscaped = endsEscaping(bytes, at, next === -1 ? bytes.length : next);
      if (next === -1) {
        this.#escaped = isEscaped;
        return -1;
      }
      if (!isEscaped) return next;
      at = next + 1;
    }
  }

  #put(text: string): void {
    if (this.#picked === null) return;
    this.#picked += text;
    if (this.#picked.length > pickedCharsMax) this.#picked = null;
  }

  #fail(at: number): number {
    this.#picked = null;
    return at;
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
