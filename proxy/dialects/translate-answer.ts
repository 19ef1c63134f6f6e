/**
 * Applies a translation to the bytes of an answer: parses and writes JSON, splits and formats
 * events.
 *
 * Not here: which answers are translated, and when the client gets their parts
 * (`translated-upstream.ts`).
 */
import {
  heldResponseBytesMax,
  jsonDepthMax,
  readableResponseBytesMax,
  translatedEventCharsMax,
} from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { parseBodyExactly, writeExactly } from "../body/exact-json.js";
import { JsonPicker } from "../body/json-picker.js";
import { nestedDeeperThan } from "../body/json-value.js";
import type { AnswerMemory } from "../capacity/memory-ledger.js";
import { errorInsideSuccess, isSomeAnswer } from "../upstream/errors/success-body.js";
import { textsOfEvents } from "../usage/event-reader.js";
import { findUsage, usageAtEnd } from "../usage/find-usage.js";
import { EventSplitter } from "./event-stream.js";
import {
  type AnswerContext,
  type EventTranslator,
  type Translation,
  UntranslatableAnswer,
} from "./shared/translation.js";
import { streamWriter } from "./stream-writer.js";
import type { AnswerTranslator, OnEvent, TranslatedAnswer } from "./translated-upstream.js";

/** The memory bounds of an answer's translation. */
interface AnswerBounds {
  readonly memory: AnswerMemory;
  /**
   * The most characters of one event of the provider's stream. A larger event ends the stream with
   * an error.
   */
  readonly eventCharsMax?: number;
}

export function createAnswerTranslator(
  translation: Translation,
  context: AnswerContext,
  { memory, eventCharsMax = translatedEventCharsMax }: AnswerBounds,
): AnswerTranslator {
  return new DialectTranslator(translation, context, memory, eventCharsMax);
}

/** Memory of a stream is counted in steps, since most streams need less than one step. */
const heldStepBytes = 4096;

class DialectTranslator implements AnswerTranslator {
  readonly #translation: Translation;
  readonly #context: AnswerContext;
  readonly #memory: AnswerMemory;
  readonly #eventCharsMax: number;
  readonly #splitter: EventSplitter;
  readonly #writer: ReturnType<typeof streamWriter>;
  #events: EventTranslator | null = null;
  #buffered: Buffer[] = [];
  /** The memory taken for the stream. */
  #heldBytes = 0;
  #usage: unknown = null;
  untranslatedBytes = 0;
  textSinceUnsent = 0;
  refused: string | null = null;

  constructor(
    translation: Translation,
    context: AnswerContext,
    memory: AnswerMemory,
    eventCharsMax: number,
  ) {
    this.#translation = translation;
    this.#context = context;
    this.#memory = memory;
    this.#eventCharsMax = eventCharsMax;
    this.#splitter = new EventSplitter(eventCharsMax);
    this.#writer = streamWriter(context.streamForm);
  }

  get usage(): unknown {
    return this.#events === null ? this.#usage : this.#events.usage;
  }

  get hasFailed(): boolean {
    return this.#events?.hasFailed ?? false;
  }

  get unsentChars(): number {
    return this.#events?.unsentChars ?? 0;
  }

  buffer(chunk: Buffer): void {
    this.untranslatedBytes += chunk.length;
    if (this.untranslatedBytes > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
    if (!this.#memory.takeForAnswer(chunk.length))
      throw new UntranslatableAnswer("there is no memory for the answer, to translate it");
    this.#buffered.push(chunk);
  }

  get wantsStream(): boolean {
    return this.#context.request["stream"] === true;
  }

  get streamType(): string {
    return this.#writer.contentType;
  }

  translateBuffered(): TranslatedAnswer {
    const body = Buffer.concat(this.#buffered);
    this.#buffered = [];
    this.#memory.give(body.length);
    // .NET may write a byte order mark.
    const text = body.toString("utf8").replace(/^\ufeff/, "");
    const value = parseBodyExactly(text);
    const readable = value ?? usageAtEnd(text) ?? undefined;
    const isAnswer = isSomeAnswer(readable, text) && !errorInsideSuccess(readable);
    // The caller handles an invalid answer like any error of a provider, but can't hold more bytes
    // than this.
    if (!isAnswer && body.length <= heldResponseBytesMax) {
      this.untranslatedBytes = 0;
      return { form: "untouched", bytes: body };
    }
    const answer = this.#translate(value, readable);
    this.untranslatedBytes = 0;
    return answer;
  }

  /** Reads the usage before the translation, because an untranslatable answer is charged, too. */
  #translate(value: unknown, readable: unknown): TranslatedAnswer {
    this.#usage = findUsage(readable);
    if (!isObject(value)) throw new UntranslatableAnswer("its answer is not a JSON object");
    if (nestedDeeperThan(value, jsonDepthMax))
      throw new UntranslatableAnswer(
        `its answer is nested deeper than ${jsonDepthMax} levels, and can't be written again`,
      );
    const answer = this.#translation.answer(value, this.#context);
    if (!this.wantsStream) return { form: "answer", bytes: Buffer.from(writeExactly(answer)) };
    const events = this.#eventTranslator();
    let text = "";
    for (const { event, data } of this.#translation.asEvents(value))
      text += this.#writer.write(events.push(event, data));
    text += this.#writer.write(events.end()) + this.#writer.end();
    return { form: "events", bytes: Buffer.from(text) };
  }

  push(chunk: Buffer, onEvent: OnEvent | null = null): Buffer | null {
    const events = this.#eventTranslator();
    let text = "";
    for (const { event, data } of this.#splitter.push(chunk)) {
      text += this.#writer.write(events.push(event, data));
      if (onEvent === null) continue;
      onEvent(text, data);
      text = "";
    }
    if (this.refused === null) {
      if (this.#splitter.overflow !== null) {
        this.untranslatedBytes = textBytesIn(this.#splitter.overflow);
        this.refused = `an event of the provider's stream is larger than ${this.#eventCharsMax} characters`;
      } else if (!this.#hasMemory(events))
        this.refused = "there is no memory for what the translation of the stream keeps";
      if (this.refused !== null) text += this.#writer.write(events.refuse(this.refused));
    }
    if (events.hasFailed) text += this.#writer.end();
    return text === "" ? null : Buffer.from(text);
  }

  end(): Buffer | null {
    const text = this.#writer.write(this.#eventTranslator().end()) + this.#writer.end();
    return text === "" ? null : Buffer.from(text);
  }

  /** Adjusts the memory to the stream's present state. False if there isn't enough. */
  #hasMemory({ heldBytes }: EventTranslator): boolean {
    const more = this.#splitter.openChars + heldBytes - this.#heldBytes;
    if (Math.abs(more) < heldStepBytes) return true;
    if (more < 0) this.#memory.give(-more);
    else if (!this.#memory.takeForAnswer(more)) return false;
    this.#heldBytes += more;
    return true;
  }

  #eventTranslator(): EventTranslator {
    this.#events ??= this.#translation.events(this.#context);
    return this.#events;
  }
}

/** `data`: the beginning of an event. */
function textBytesIn(data: string): number {
  const event = new JsonPicker(new Map(), textsOfEvents);
  event.append(Buffer.from(data.slice(data.indexOf("{"))));
  return event.textChars;
}
