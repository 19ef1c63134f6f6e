/**
 * What the events of a streamed answer say: usage, errors, and how much text there was. Framing is
 * `tap-stream.ts`'s.
 */
import { isObject } from "../../shared/assert.js";
import type { Operation } from "../../shared/operation.js";
import type { ElidedJson } from "../body/elided-json.js";
import { isErrorEvent } from "../body/error-body.js";
import { stringEnd } from "../body/scan-json.js";
import { findUsage, mergeUsage, usageInTail } from "./find-usage.js";
import { readUsage, type UsageReading } from "./read-usage.js";

/** Where the events of an operation can matter. */
interface Places {
  readonly all: RegExp;
  /** What stands before a text of the answer, up to its opening quote. */
  readonly beforeText: RegExp;
}

/**
 * The places in an event that can matter: usage as an object, an error as one or as a text, and
 * text of the answer, which stands behind one of these names; and what else one dialect has. A name
 * in its plain quotes can't come from inside a text, where quotes are escaped. One expression over
 * the Latin-1 reading takes a sixth of the time of JSON.parse, and of searching the Buffer for each
 * name.
 */
function placesWith(texts: string, { usage = "usage", more = "" } = {}): Places {
  return {
    all: new RegExp(
      `"(?:(?:${usage}|error)"\\s*:\\s*\\{|error"\\s*:\\s*"(?!")|object"\\s*:\\s*"error"|${more}(?:${texts})"\\s*:\\s*")`,
      "g",
    ),
    beforeText: new RegExp(`"(?:${texts})"\\s*:\\s*"$`),
  };
}

/** A reason to finish besides. */
const places = placesWith("content|arguments|reasoning(?:_content)?|refusal", {
  usage: "usage(?:Metadata)?",
  more: 'finish_reason"\\s*:\\s*"(?!")|',
});
/** Of Anthropic's messages, whose deltas name their text by its kind. */
const placesOfMessages = placesWith("text|thinking|partial_json");
/**
 * Of responses, of speech and of transcriptions: every text comes once as a delta, and again in the
 * events that sum it up.
 */
const placesOfDeltas = placesWith("delta", { more: 'type"\\s*:\\s*"error"|' });

/** The same of any dialect. */
export const beforeAnyText = new RegExp(
  [places, placesOfMessages, placesOfDeltas].map(({ beforeText }) => beforeText.source).join("|"),
);

function placesOf(operation: Operation): Places {
  if (operation === "chat_completions") return places;
  return operation === "messages" ? placesOfMessages : placesOfDeltas;
}

/** Reads whole events and remembers what they said. */
export class EventReader {
  contentChars = 0;
  done = false;
  errorSeen = false;
  finished = false;
  /** An event was too large to be read whole, and no usage was told since. */
  unread = false;
  readonly #places: RegExp;
  readonly #beforeText: RegExp;
  /** As it came; read when it is asked for, which is once. */
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

  /** Whether a string behind these bytes, which end in its opening quote, is text of the answer. */
  isText(before: string): boolean {
    return this.#beforeText.test(before);
  }

  /** An event that was too large to be kept; `lines` as below. */
  readElided(event: ElidedJson, lines: number): void {
    this.contentChars += event.textBytes;
    if (!event.headless) return void this.read(event.text(), lines);
    const usage = usageInTail(event.text());
    if (usage === undefined) this.unread = true;
    else this.#told(usage);
  }

  /** `lines` of the event aren't blank. True for an event that carries usage and nothing else. */
  read(event: string, lines: number): boolean {
    if (lines === 0) return false;
    const data = lines === 1 ? (event.startsWith("data:") ? event.slice(5) : "") : dataOf(event);
    if (data.length < 16 && data.trim() === "[DONE]") {
      this.done = true;
      return false;
    }
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
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      // What isn't JSON is the client's to judge: it passes.
      return false;
    }
    if (!isObject(value)) return false;
    const failed = isErrorEvent(value);
    if (failed) this.errorSeen = true;
    this.#told(findUsage(value));
    const choices = value["choices"];
    return !failed && isObject(value["usage"]) && Array.isArray(choices) && choices.length === 0;
  }

  #told(usage: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    if (readUsage(usage).kind === "absent") return;
    this.#charsAtUsage = this.contentChars;
    this.unread = false;
  }
}

/** The data of an event of several lines, as the standard joins it. */
function dataOf(event: string): string {
  const data: string[] = [];
  for (const line of event.split("\n")) if (line.startsWith("data:")) data.push(line.slice(5));
  return data.join("\n");
}
