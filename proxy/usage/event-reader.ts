/**
 * Reads the events of a streamed answer: usage, errors, and the amount of text. `tap-stream.ts`
 * does the framing.
 */
import { isObject, parseJson, present } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { addedCalls, type ToolCalls } from "../../shared/usage/tool-calls.js";
import { isErrorEvent, isFailedReason } from "../body/error-body.js";
import type { JsonPicker } from "../body/json-picker.js";
import { stringEnd } from "../body/scan-json.js";
import { blockPattern, itemPattern, partPattern, toolCallsInEvent } from "./answered-tools.js";
import { findUsage, hasEscapedName, mergeUsage, modelNamedIn } from "./find-usage.js";
import { otherTextIn, placeOfAnswer } from "./other-text.js";
import { readUsage, type UsageReading } from "./read-usage.js";

/**
 * Matches the names in an event that may matter: usage as an object, an error as an object or a
 * text, and text of the answer, which follows one of the names in `texts`. `more` adds to the
 * pattern for one dialect. A name in plain quotes can't be part of a text, where quotes are
 * escaped. One expression over the Latin-1 reading takes a sixth of the time of JSON.parse, or of
 * searching the Buffer for each name. After a match the event is parsed.
 */
function placesWith(texts: readonly string[], { usage = "usage", more = "" } = {}): Places {
  const alternatives = [
    `(?:${usage}|error)"\\s*:\\s*\\{`,
    'error"\\s*:\\s*"(?!")',
    'object"\\s*:\\s*"error"',
    `${more}(?:${texts.join("|")})"\\s*:\\s*"`,
  ];
  return { all: new RegExp(`"(?:${alternatives.join("|")})`, "g"), texts: new Set(texts) };
}

/** The search terms for the events of an operation. */
interface Places {
  readonly all: RegExp;
  /** The names of members that hold text of the answer. */
  readonly texts: ReadonlySet<string>;
}

/** For chat completions, which also have a finish reason. */
const placesOfChat = placesWith(
  ["content", "arguments", "reasoning", "reasoning_content", "refusal"],
  { usage: "usage(?:Metadata)?", more: 'finish_reason"\\s*:\\s*"(?!")|' },
);
/** For legacy completions. */
const placesOfCompletions = placesWith(["text"], { more: 'finish_reason"\\s*:\\s*"(?!")|' });
/** For Google's interactions, whose deltas name a text by its kind. */
const placesOfInteractions = placesWith(["text", "arguments"]);
/**
 * For Gemini's own API, which may also block a prompt. Streams that end with a call may lack a
 * reason, and clients accept them.
 */
const placesOfGoogle = placesWith(["text"], {
  usage: "usageMetadata",
  more: `(?:finishReason|blockReason)"\\s*:\\s*"|(?:functionCall|inlineData)"\\s*:\\s*\\{|${partPattern}|`,
});
/** For Anthropic's messages, whose deltas name a text by its kind. */
const placesOfMessages = placesWith(["text", "thinking", "partial_json"], {
  more: `stop_reason"\\s*:\\s*"|${blockPattern}|`,
});
/**
 * For responses, speech and transcriptions. Every text comes once as a delta, and again in the
 * events that repeat the complete text; those aren't counted.
 */
const placesOfDeltas = placesWith(["delta"], {
  more: `type"\\s*:\\s*"(?:error"|response\\.(?:(?:completed|incomplete|failed|done)")?)|${itemPattern}|`,
});

/** Lists of signed reasoning in chat completions: those of LiteLLM and of OpenRouter. */
const signedBlocks = /"(?:thinking_blocks|reasoning_details)"/g;

/** The names of text in events of any dialect. */
export const textsOfEvents: ReadonlySet<string> = new Set(
  [placesOfChat, placesOfMessages, placesOfDeltas].flatMap(({ texts }) => [...texts]),
);

/** The operations whose streams mark the end of the answer. */
const endsNamed: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "completions",
  "messages",
  "responses",
  "stream_generate_content",
]);

function placesOf(operation: Operation): Places {
  if (operation === "chat_completions") return placesOfChat;
  if (operation === "completions") return placesOfCompletions;
  if (operation === "stream_generate_content") return placesOfGoogle;
  if (operation === "interactions") return placesOfInteractions;
  return operation === "messages" ? placesOfMessages : placesOfDeltas;
}

/** Reads complete events and keeps what it finds in them. */
export class EventReader {
  contentChars = 0;
  /** The part of `contentChars` in fields that aren't known to be text. */
  otherChars = 0;
  hasSeenError = false;
  /** Whether an error arrived before any usage or part of an answer. */
  beginsWithError = false;
  /** Whether the answer has a finish reason. */
  isFinished = false;
  #hasReason = false;
  /** Whether a finish reason was followed by more text. Some hosts send one in each event. */
  #repeatsReason = false;
  /**
   * Whether something other than text followed a finish reason or a call of Gemini's, and no reason
   * since.
   */
  #continuesAfterReason = false;
  /** Whether a finish reason is a failure of the model. */
  #hasFailed = false;
  /** Whether reasoning was in the field of hosts that show all of it. */
  hasSeenReasoning = false;
  /** Characters of reasoning as text, which a signed block may repeat. */
  #unsignedChars = 0;
  /** Whether a part of an answer other than text was seen. */
  #hasPart = false;
  /** Whether an event was too large to be read completely, and no usage has arrived since. */
  hasUnreadEvent = false;
  /** The model that an event with usage named. */
  model: string | null = null;
  /** The calls of tools so far; undefined without any. */
  toolCalls: ToolCalls | undefined = undefined;
  /**
   * For hard caps, which set it to "": the text of the events since then, as in JSON; null if one
   * of them had none.
   */
  passedText: string | null = null;
  /** The names of members that hold text of the answer. */
  readonly texts: ReadonlySet<string>;
  readonly #places: RegExp;
  readonly #answerPlace: RegExp;
  /** The usage as reported. The getter `usage` reads it, and is called once. */
  #usage: unknown = null;
  #charsAtUsage = 0;
  #isFirst = true;
  /** Whether the end of the answer was seen without a reason, or the dialect doesn't mark it. */
  #hasEnded: boolean;
  /** Whether an event of an answer was seen. */
  #hasAnswerEvent = false;
  /** Whether an unknown event was seen. */
  #hasUnknownEvent = false;

  constructor(operation: Operation) {
    const { all, texts } = placesOf(operation);
    this.#hasEnded = !endsNamed.has(operation);
    this.#places = all;
    this.#answerPlace = placeOfAnswer(operation);
    this.texts = texts;
  }

  get usage(): UsageReading {
    return readUsage(this.#usage);
  }

  /** As in `StreamTap`. */
  get reported(): unknown {
    return this.#usage;
  }

  get contentCharsSinceUsage(): number {
    return this.contentChars - this.#charsAtUsage;
  }

  /**
   * Whether the events contain a complete answer. Some hosts give no reason before the last event,
   * `[DONE]` or `message_stop`. A stream of unknown events counts as complete, an empty one
   * doesn't.
   */
  get isComplete(): boolean {
    return this.isFinished || this.#hasEnded || (this.#hasUnknownEvent && !this.#hasBegun);
  }

  /** Whether the answer is complete, even if the stream ends after this event. */
  get isOver(): boolean {
    if (!this.isFinished || this.#hasEnded) return this.isFinished;
    return !this.#repeatsReason && !this.#continuesAfterReason;
  }

  get #hasBegun(): boolean {
    return this.#hasAnswerEvent || this.contentChars > this.otherChars || this.#usage !== null;
  }

  /** Whether the answer ended with a failure of the model, and contains nothing else. */
  get isFailed(): boolean {
    return this.#hasFailed && !this.#hasPart && this.contentChars === 0;
  }

  /** Reads short data: perhaps the end of a stream or a ping, instead of a part of an answer. */
  #readShortData(data: string): void {
    const text = data.trim();
    if (text === "[DONE]" || text.includes('"message_stop"')) this.#hasEnded ||= this.#hasBegun;
    else if (text !== "" && !text.includes('"ping"')) this.#hasUnknownEvent = true;
  }

  /** Reads the picked parts of an event that was too large to keep, and may have been the last. */
  readPicked(event: JsonPicker): void {
    this.#hasEnded = true;
    this.passedText = null;
    this.contentChars += event.textChars;
    const value = event.value();
    if (value === undefined) this.hasUnreadEvent = true;
    else this.#readValue(value);
  }

  /** `lines`: how many lines of the event aren't blank. True if the event carries only usage. */
  read(event: string, lines: number): boolean {
    if (lines === 0) return false;
    const plain = this.#isFirst ? event.replace(byteOrderMark, "") : event;
    this.#isFirst = false;
    return this.readData(dataOf(plain, lines));
  }

  /** As `read`. */
  readData(data: string): boolean {
    if (data.length > shortDataCharsMax) this.#hasUnknownEvent = true;
    else this.#readShortData(data);
    let matters = false;
    const charsBefore = this.contentChars;
    const finishedBefore = this.isFinished;
    this.isFinished = false;
    let hasReason = false;
    // Part of Gemini's answers that may accompany text.
    let hasOtherPart = false;
    const places = this.#places;
    places.lastIndex = 0;
    for (let place = places.exec(data); place !== null; place = places.exec(data)) {
      // The first letter tells the names apart: `f`, `s` and `b` are reasons (`finish_reason`,
      // `stop_reason`, `blockReason`) or a `functionCall`; `i` is `inlineData`.
      const letter = data[place.index + 1];
      if (letter === "f" || letter === "s" || letter === "b") {
        this.isFinished = true;
        if (place[0].endsWith("{")) hasOtherPart = true;
        else hasReason = true;
        if (letter === "f") this.#readReason(data, place[0]);
      } else if (letter === "i") {
        this.#hasPart = true;
        hasOtherPart = true;
      } else if (letter === "t" && data[place.index + 2] === "y") {
        const isResponse = place[0].includes("response.");
        this.#hasAnswerEvent ||= isResponse;
        if (place[0].endsWith(".")) continue;
        matters = true;
        this.isFinished ||= isResponse;
      } else if (letter === "u" || letter === "e" || letter === "o") matters = true;
      else {
        const start = places.lastIndex;
        const end = stringEnd(data, start - 1);
        if (end === -1) {
          this.passedText = null;
          this.isFinished ||= finishedBefore;
          return false;
        }
        const chars = end - 1 - start;
        if (letter === "r" && chars > 0 && place[0].startsWith('"reasoning')) {
          this.hasSeenReasoning ||= place[0].startsWith('"reasoning_content"');
          this.#unsignedChars += chars;
        }
        this.contentChars += chars;
        if (this.passedText !== null) this.passedText += data.slice(start, end - 1);
        places.lastIndex = end;
      }
    }
    // Text after the end of one choice belongs to another choice.
    const textChars = this.contentChars - charsBefore;
    if (textChars === 0) {
      this.passedText = null;
      if (finishedBefore) this.isFinished = true;
    }
    let value: unknown;
    if ((textChars === 0 || hasOtherPart) && this.#answerPlace.test(data)) {
      value = parseJson(data);
      const repeated = this.#repeatedIn(data);
      const otherChars = Math.max(0, otherTextIn(value, data) - textChars - repeated);
      this.otherChars += otherChars;
      this.contentChars += otherChars;
      this.#continuesAfterReason ||= finishedBefore && otherChars > 0;
    }
    if (hasReason) {
      this.#repeatsReason ||= this.#hasReason && this.contentChars > charsBefore;
      this.#hasReason = true;
      this.#continuesAfterReason = false;
    }
    // An event that isn't JSON passes; the client has to handle it.
    return (matters || hasEscapedName(data)) && this.#readValue(value ?? parseJson(data));
  }

  /** The most reasoning that the signed blocks of a chunk can repeat. */
  #repeatedIn(data: string): number {
    const lists = data.match(signedBlocks)?.length ?? 0;
    if (lists === 0) return 0;
    const chars = this.#unsignedChars;
    this.#unsignedChars = 0;
    return lists * chars;
  }

  /** `place`: the name of a call, or of a reason with the quote that begins it. */
  #readReason(data: string, place: string): void {
    if (place.endsWith("{")) this.#hasPart = true;
    else {
      const start = this.#places.lastIndex;
      this.#hasFailed ||= isFailedReason(data.slice(start, data.indexOf('"', start)));
    }
  }

  /**
   * As `read`, for the bytes after the last blank line of a stream, which may be an incomplete
   * event.
   */
  readRest(event: string, lines: number): boolean {
    const { isFinished } = this;
    const isUsageOnly = this.read(event, lines);
    if (parseJson(dataOf(event, lines)) === undefined) this.isFinished = isFinished;
    return isUsageOnly;
  }

  #readValue(value: unknown): boolean {
    if (!isObject(value)) return false;
    const isError = isErrorEvent(value);
    if (isError) {
      const isFirst = this.contentChars === 0 && !this.#hasPart && this.#usage === null;
      this.beginsWithError ||= isFirst && !this.hasSeenError;
      this.hasSeenError = true;
    }
    this.model ??= modelNamedIn(value);
    this.toolCalls = addedCalls(this.toolCalls, toolCallsInEvent(value));
    this.#addUsage(findUsage(value));
    const choices = value["choices"];
    if (Array.isArray(choices) && choices.some(hasFinished)) this.isFinished = true;
    return !isError && isObject(value["usage"]) && Array.isArray(choices) && choices.length === 0;
  }

  #addUsage(usage: unknown): void {
    // A value that isn't a usage doesn't replace one.
    if (isObject(this.#usage) && !isObject(usage)) return;
    this.#usage = mergeUsage(this.#usage, usage);
    if (readUsage(usage).kind === "absent") return;
    this.#charsAtUsage = this.contentChars;
    this.hasUnreadEvent = false;
  }
}

function hasFinished(choice: unknown): boolean {
  return isObject(choice) && present(choice["finish_reason"]);
}

/** `[DONE]` and a ping aren't longer. */
const shortDataCharsMax = 40;

/** A byte order mark at the start of a stream, read as Latin-1. */
export const byteOrderMark = /^\xef\xbb\xbf/;

/** The data of an event; several lines joined as the standard requires. */
function dataOf(event: string, lines: number): string {
  // Most events have one line of data, many with a name before it.
  const line = lines === 2 && event.startsWith("event:") ? event.indexOf("\n") + 1 : 0;
  if ((lines === 1 || line > 0) && event.startsWith("data:", line)) return event.slice(line + 5);
  const data: string[] = [];
  for (const line of event.split(/[\r\n]+/)) if (line.startsWith("data:")) data.push(line.slice(5));
  return data.join("\n");
}
