/**
 * Placeholders for the long texts of a conversation, which no translation reads: the translation
 * gets the beginning of each text with a placeholder after it, and the client's bytes then replace
 * the placeholders in the JSON of the result. Parsing and writing an agent's session of a megabyte
 * would take ten times as long as copying it.
 *
 * Not here: texts that translations read, such as inputs of tools and files. They stay whole.
 */
import { isObject } from "../../shared/checked.js";
import type { BodyOutline } from "./count-values.js";
import { parseBodyExactly, writeExactly } from "./exact-json.js";

type Fields = Readonly<Record<string, unknown>>;

export interface BodyWithPlaceholders {
  readonly fields: Fields;
  /** The JSON of a translation of `fields`, with the client's texts for the placeholders. */
  fill(translated: unknown): FilledBody;
}

/** `skeleton`: the same JSON before its placeholders were filled. */
export interface FilledBody {
  readonly bytes: Buffer;
  readonly skeleton: Buffer;
}

/** A placeholder is the number of its text between NULs, which JSON can write in one way only. */
const placeholderStart = "\u0000\u0000";
/** As JSON.stringify writes them. */
const writtenStart = "\\u0000\\u0000";
const writtenEnd = "\\u0000";

/** How much of a text precedes its placeholder: translations read the beginnings of texts. */
const beginningBytes = 128;
/** A text whose visible beginning is shorter than this may be blank. */
const shownCharsMin = 8;

/** The position of a value in a body: `turns` is `messages`, `parts` is `content`. */
type Place = "body" | "turns" | "turn" | "parts" | "part" | "other";

/**
 * The fields of a body with placeholders for its long texts; null if it has none, or if one of its
 * texts looks like a placeholder. The body must be a chat or Messages request that was checked.
 */
export function withPlaceholders({ skeleton, bytesOf }: BodyOutline): BodyWithPlaceholders | null {
  if (skeleton.includes(writtenStart)) return null;
  const fields = parseBodyExactly(skeleton.toString("utf8")) as Fields;
  const texts: Buffer[] = [];
  let hasPlaceholder = false;
  const replacement = (text: string, isReplaceable: boolean): string => {
    const bytes = bytesOf(text);
    if (bytes === null) return text;
    const prefix = isReplaceable ? beginningOf(bytes) : "";
    if (prefix.trimStart().length >= shownCharsMin) {
      texts.push(bytes.subarray(1 + Buffer.byteLength(prefix), -1));
      return `${prefix}${placeholderStart}${texts.length - 1}\u0000`;
    }
    const wholeText = JSON.parse(bytes.toString("utf8")) as string;
    hasPlaceholder ||= wholeText.includes(placeholderStart);
    return wholeText;
  };
  replaceTexts(fields, replacement);
  return texts.length === 0 || hasPlaceholder
    ? null
    : { fields, fill: (translated) => fillTexts(translated, texts) };
}

/** The beginning of a string in JSON up to the first escape. */
function beginningOf(bytes: Buffer): string {
  let end = Math.min(1 + beginningBytes, bytes.length - 1);
  // Not in the middle of a character.
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  const text = bytes.toString("utf8", 1, end);
  const escapeAt = text.indexOf("\\");
  return escapeAt === -1 ? text : text.slice(0, escapeAt);
}

/** Without recursion: JSON.parse accepts deeper nesting than the stack does. */
function replaceTexts(
  fields: Fields,
  replacement: (text: string, isReplaceable: boolean) => string,
): void {
  const open: (readonly [object, Place])[] = [[fields, "body"]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [container, place] = next;
    const values = container as Record<string, unknown>;
    for (const key of Object.keys(container)) {
      const value = values[key];
      if (typeof value === "string") {
        const isReplaceable =
          (key === "content" && (place === "turn" || place === "part")) ||
          (key === "text" && place === "part");
        values[key] = replacement(value, isReplaceable);
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
  // What a tool returned, in place of parts, is written as JSON (`plain-chat.ts`).
  if (outer === "parts")
    return isObject(value) && typeof value["type"] === "string" ? "part" : "other";
  return (outer === "turn" || outer === "part") && key === "content" && isList ? "parts" : "other";
}

function fillTexts(translated: unknown, texts: readonly Buffer[]): FilledBody {
  const skeleton = Buffer.from(writeExactly(translated));
  const pieces: Buffer[] = [];
  let from = 0;
  for (
    let position = skeleton.indexOf(writtenStart);
    position !== -1;
    position = skeleton.indexOf(writtenStart, from)
  ) {
    const numberAt = position + writtenStart.length;
    const end = skeleton.indexOf(writtenEnd, numberAt);
    const number = Number(skeleton.toString("latin1", numberAt, end));
    pieces.push(skeleton.subarray(from, position), texts[number]!);
    from = end + writtenEnd.length;
  }
  pieces.push(skeleton.subarray(from));
  return { bytes: Buffer.concat(pieces), skeleton };
}
