/**
 * The long texts of a conversation, which a translation carries without reading them: it gets their
 * beginnings, each with a mark after it, and what it makes is written with the client's bytes in
 * place of the marks. Parsing and writing an agent's session of a megabyte takes ten times as long
 * as copying it.
 *
 * Not here: texts that translations read, such as inputs of tools and files. Those stay whole.
 */
import { isObject } from "../../shared/checked.js";
import type { BodyOutline } from "./count-values.js";
import { parseBodyExactly, writeExactly } from "./exact-json.js";

type Fields = Readonly<Record<string, unknown>>;

export interface CarriedBody {
  readonly fields: Fields;
  /** The JSON of a translation of these fields. */
  write(translated: unknown): CarryingBody;
}

/** `shape`: with marks in place of the carried texts. */
export interface CarryingBody {
  readonly bytes: Buffer;
  readonly shape: Buffer;
}

/** What is in place of a text: its number between NULs, which JSON can write in one way only. */
const mark = "\u0000\u0000";
/** As JSON.stringify writes it. */
const writtenMark = "\\u0000\\u0000";
const markEnd = "\\u0000";

/** How much of a text comes before its mark: translations look at beginnings of texts. */
const beginningBytes = 128;
/** A text that shows less of itself than this may be blank. */
const shownCharsMin = 8;

/** Where a value is in a body: `turns` in `messages`, `parts` in `content`. */
type Place = "body" | "turns" | "turn" | "parts" | "part" | "other";

/**
 * The fields of a body with its long texts carried; null if it has none, or if it uses the mark.
 * The body must be a chat or Messages request that was checked.
 */
export function carriedBody({ shape, bytesOf }: BodyOutline): CarriedBody | null {
  if (shape.includes(writtenMark)) return null;
  const fields = parseBodyExactly(shape.toString("utf8")) as Fields;
  const texts: Buffer[] = [];
  let usesMark = false;
  const instead = (text: string, isCarried: boolean): string => {
    const bytes = bytesOf(text);
    if (bytes === null) return text;
    const shown = isCarried ? beginningOf(bytes) : "";
    if (shown.trimStart().length >= shownCharsMin) {
      texts.push(bytes.subarray(1 + Buffer.byteLength(shown), -1));
      return `${shown}${mark}${texts.length - 1}\u0000`;
    }
    const whole = JSON.parse(bytes.toString("utf8")) as string;
    usesMark ||= whole.includes(mark);
    return whole;
  };
  replaceTexts(fields, instead);
  return texts.length === 0 || usesMark
    ? null
    : { fields, write: (translated) => written(translated, texts) };
}

/** The beginning of a string in JSON up to the first escape. */
function beginningOf(bytes: Buffer): string {
  let end = Math.min(1 + beginningBytes, bytes.length - 1);
  // Not amid a character.
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  const text = bytes.toString("utf8", 1, end);
  const escapeAt = text.indexOf("\\");
  return escapeAt === -1 ? text : text.slice(0, escapeAt);
}

/** Without recursion: JSON.parse accepts deeper nesting than the stack does. */
function replaceTexts(fields: Fields, instead: (text: string, isCarried: boolean) => string): void {
  const open: (readonly [object, Place])[] = [[fields, "body"]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [container, place] = next;
    const values = container as Record<string, unknown>;
    for (const key of Object.keys(container)) {
      const value = values[key];
      if (typeof value === "string") {
        const isCarried =
          (key === "content" && (place === "turn" || place === "part")) ||
          (key === "text" && place === "part");
        values[key] = instead(value, isCarried);
      } else if (typeof value === "object" && value !== null)
        open.push([value, placeInside(place, key, { value, container })]);
    }
  }
}

function placeInside(
  outer: Place,
  key: string,
  { value, container }: { readonly value: object; readonly container: object },
): Place {
  const isList = Array.isArray(value);
  if (outer === "body") return key === "messages" && isList ? "turns" : "other";
  // Some targets cut white space at the end of the last turn.
  if (outer === "turns")
    return isObject(value) && Number(key) < (container as unknown[]).length - 1 ? "turn" : "other";
  if (outer === "parts") return isObject(value) ? "part" : "other";
  return (outer === "turn" || outer === "part") && key === "content" && isList ? "parts" : "other";
}

function written(translated: unknown, texts: readonly Buffer[]): CarryingBody {
  const shape = Buffer.from(writeExactly(translated));
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = shape.indexOf(writtenMark); at !== -1; at = shape.indexOf(writtenMark, from)) {
    const numberAt = at + writtenMark.length;
    const end = shape.indexOf(markEnd, numberAt);
    const number = Number(shape.toString("latin1", numberAt, end));
    pieces.push(shape.subarray(from, at), texts[number]!);
    from = end + markEnd.length;
  }
  pieces.push(shape.subarray(from));
  return { bytes: Buffer.concat(pieces), shape };
}
