/**
 * Reads the events of a streamed answer: usage, errors, and how much text there was. Framing is
 * `tap-stream.ts`'s.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import type { ElidedJson } from "../body/elided-json.js";
import { isErrorEvent } from "../body/error-body.js";
import { stringEnd } from "../body/scan-json.js";
import { findUsage, mergeUsage, usageInTail } from "./find-usage.js";
import { readUsage, type UsageReading } from "./read-usage.js";

/** What is searched for in the events of an operation. */
interface Places {
  readonly all: RegExp;
  /** Matches what precedes a text of the answer, up to its opening quote. */
  readonly beforeText: RegExp;
}

/**
 * The places in an event that can matter: usage as an object, an error as an object or a text, and
 * text of the answer, which follows one of the names in `texts`; `more` is a dialect's own. A name
 * in plain quotes can't come from inside a text, where quotes are escaped. One expression over the
 * Latin-1 reading takes a sixth of the time of JSON.parse, or of searching the Buffer for each
 * name.
 */
function placesWith(texts: string, { usage = "usage", more = "" } = {}): Places {
  const alternatives = [
    `(?:${usage}|error)"\\s*:\\s*\\{`,
    'error"\\s*:\\s*"(?!")',
    'object"\\s*:\\s*"error"',
    `${more}(?:${texts})"\\s*:\\s*"`,
  ];
  return {
    all: new RegExp(`"(?:${alternatives.join("|")})`, "g"),
    beforeText: new RegExp(`"(?:${texts})"\\s*:\\s*"$`),
  };
}

/** Of chat completions, which have a finish reason besides. */
const placesOfChat = placesWith("content|arguments|reasoning(?:_content)?|refusal", {
  usage: "usage(?:Metadata)?",
  more: 'finish_reason"\\s*:\\s*"(?!")|',
});
/** Of completions of a prompt. */
const placesOfCompletions = placesWith("text", { more: 'finish_reason"\\s*:\\s*"(?!")|' });
/** Of Gemini's own API. */
const placesOfGoogle = placesWith("text", { usage: "usageMetadata" });
/** Of Anthropic's messages, whose deltas name a text by its kind. */
const placesOfMessages = placesWith("text|thinking|partial_json");
/**
 * Of responses, speech and transcriptions: every text comes once as a delta, and again in the
 * events that repeat the complete text, which aren't counted.
 */
const placesOfDeltas = placesWith("delta", { more: 'type"\\s*:\\s*"error"|' });

/** `beforeText` of any dialect. */
export const beforeAnyText = new RegExp(
  [placesOfChat, placesOfMessages, placesOfDeltas]
    .map(({ beforeText }) => beforeText.source)
    .join("|"),
);

function placesOf(operation: Operation): Places {
  if (operation === "chat_completions") return placesOfChat;
  if (operation === "completions") return placesOfCompletions;
  if (operation === "stream_generate_content") return placesOfGoogle;
  return operation === "messages" ? placesOfMessages : placesOfDeltas;
}

/** Reads complete events and keeps what was found in them. */
export class EventReader {
  contentChars = 0;
  errorSeen = false;
  finished = false;
  /** An event was too large to be read completely, and no usage has come since. */
  unread = false;
  readonly #places: RegExp;
  readonly #beforeText: RegExp;
  /** As it came; `usage` reads it, which is called once. */
  #usage: unknown = null;
  #charsAtUsage = 0;

  constructor(operation: Operation) {
    const { all, beforeText } = placesOf(operation);
    this.#places = all;
    this.#beforeText = beforeText;
  }

  get usage(): UsageReading {
    return readUsage(this.#usage);
  }

  get contentCharsSinceUsage(): number {
    return this.contentChars - this.#charsAtUsage;
  }

  /** Whether a string after these bytes, which end in its opening quote, is text of the answer. */
  isText(before: string): boolean {
    return this.#beforeText.test(before);
  }

  /** An event that was too large to be kept; `lines` as for `read`. */
  readElided(event: ElidedJson, lines: number): void {
    this.contentChars += event.textBytes;
    if (!event.onlyTail) {
      this.read(event.text(), lines);
      return;
    }
    const usage = usageInTail(event.text());
    if (usage === undefined) this.unread = true;
    else this.#addUsage(usage);
  }

  /**
   * `lines`: how many lines of the event aren't blank. True for an event that carries usage and
   * nothing else.
   */
  read(event: string, lines: number): boolean {
    if (lines === 0) return false;
    const data = lines === 1 ? (event.startsWith("data:") ? event.slice(5) : "") : dataOf(event);
    let matters = false;
    const places = this.#places;
    places.lastIndex = 0;
    for (let place = places.exec(data); place !== null; place = places.exec(data)) {
      const letter = data[place.index + 1];
      if (letter === "f") this.finished = true;
      else if (
        letter === "u" ||
        letter === "e" ||
        letter === "o" ||
        (letter === "t" && data[place.index + 2] === "y")
      )
        matters = true;
      else {
        const start = places.lastIndex;
        const end = stringEnd(data, start - 1);
        if (end === -1) return false;
        this.contentChars += end - 1 - start;
        places.lastIndex = end;
      }
    }
    return matters && this.#parse(data);
  }

  #parse(data: string): boolean {
    // What isn't JSON is the client's to judge: it passes.
    const value = parseJson(data);
    if (!isObject(value)) return false;
    const isError = isErrorEvent(value);
    if (isError) this.errorSeen = true;
    this.#addUsage(findUsage(value));
    const choices = value["choices"];
    return !isError && isObject(value["usage"]) && Array.isArray(choices) && choices.length === 0;
  }

  #addUsage(usage: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    if (readUsage(usage).kind === "absent") return;
    this.#charsAtUsage = this.contentChars;
    this.unread = false;
  }
}

/** The data of an event of several lines, joined as the standard says. */
function dataOf(event: string): string {
  const data: string[] = [];
  for (const line of event.split("\n")) if (line.startsWith("data:")) data.push(line.slice(5));
  return data.join("\n");
}
