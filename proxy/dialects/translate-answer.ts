/**
 * A translation's answers and events as bytes: JSON is parsed and written, events are split and
 * framed.
 */
import { isObject } from "../../shared/assert.js";
import {
  heldResponseBytesMax,
  readableResponseBytesMax,
  streamEventBytesMax,
  translatedEventCharsMax,
} from "../../shared/bounds.js";
import { ElidedJson } from "../body/elided-json.js";
import { parseBodyExactly, writeExactly } from "../body/exact-json.js";
import { errorInsideSuccess, isSomeAnswer } from "../upstream/errors/success-body.js";
import { beforeAnyText } from "../usage/event-reader.js";
import { findUsage, usageAtEnd } from "../usage/find-usage.js";
import { EventSplitter, formatEvent } from "./event-stream.js";
import type { AnswerTranslator, WholeAnswer } from "./translated-upstream.js";
import {
  type AnswerContext,
  type ClientEvent,
  type EventTranslator,
  type Translation,
  UntranslatableAnswer,
} from "./translation/translation.js";

/** `eventCharsMax`: of one event of the provider's stream; a larger one ends it in an error. */
export function createAnswerTranslator(
  translation: Translation,
  context: AnswerContext,
  eventCharsMax = translatedEventCharsMax,
): AnswerTranslator {
  return new Translating(translation, context, eventCharsMax);
}

class Translating implements AnswerTranslator {
  readonly #translation: Translation;
  readonly #context: AnswerContext;
  readonly #eventCharsMax: number;
  readonly #splitter: EventSplitter;
  #events: EventTranslator | null = null;
  #kept: Buffer[] = [];
  #usage: unknown = null;
  untranslatedBytes = 0;
  refused: string | null = null;

  constructor(translation: Translation, context: AnswerContext, eventCharsMax: number) {
    this.#translation = translation;
    this.#context = context;
    this.#eventCharsMax = eventCharsMax;
    this.#splitter = new EventSplitter(eventCharsMax);
  }

  get usage(): unknown {
    return this.#events === null ? this.#usage : this.#events.usage;
  }

  get failed(): boolean {
    return this.#events !== null && this.#events.failed;
  }

  keep(chunk: Buffer): void {
    this.untranslatedBytes += chunk.length;
    if (this.untranslatedBytes > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
    this.#kept.push(chunk);
  }

  get asksStream(): boolean {
    return this.#context.request["stream"] === true;
  }

  whole(): WholeAnswer {
    const body = Buffer.concat(this.#kept);
    this.#kept = [];
    const text = body.toString("utf8");
    const value = parseBodyExactly(text);
    const told = value ?? usageAtEnd(text) ?? undefined;
    const isAnswer = isSomeAnswer(told, text) && !errorInsideSuccess(told);
    // What is none is judged by what comes behind, as every provider's is; but that holds no more
    // than this.
    if (!isAnswer && body.length <= heldResponseBytesMax) {
      this.untranslatedBytes = 0;
      return { form: "untouched", bytes: body };
    }
    const answer = this.#answer(value, told);
    this.untranslatedBytes = 0;
    return answer;
  }

  /** The usage is read first: what can't be translated is charged all the same. */
  #answer(value: unknown, told: unknown): WholeAnswer {
    this.#usage = findUsage(told);
    if (!isObject(value)) throw new UntranslatableAnswer("its answer is not a JSON object");
    const answer = this.#translation.answer(value, this.#context);
    if (!this.asksStream) return { form: "answer", bytes: Buffer.from(writeExactly(answer)) };
    const events = this.#started();
    let text = "";
    for (const { event, data } of this.#translation.asEvents(value))
      text += written(events.push(event, data));
    return { form: "events", bytes: Buffer.from(text + written(events.end())) };
  }

  push(chunk: Buffer): Buffer | null {
    const events = this.#started();
    let text = "";
    for (const { event, data } of this.#splitter.push(chunk))
      text += written(events.push(event, data));
    if (this.#splitter.overflow !== null && this.refused === null) {
      this.untranslatedBytes = textBytesIn(this.#splitter.overflow);
      this.refused = `an event of the provider's stream is larger than ${this.#eventCharsMax} characters`;
      text += written(events.refuse(this.refused));
    }
    return text === "" ? null : Buffer.from(text);
  }

  end(): Buffer | null {
    const text = written(this.#started().end());
    return text === "" ? null : Buffer.from(text);
  }

  #started(): EventTranslator {
    return (this.#events ??= this.#translation.events(this.#context));
  }
}

/** Roughly: short texts aren't counted. */
function textBytesIn(data: string): number {
  const elided = new ElidedJson(streamEventBytesMax, (before) => beforeAnyText.test(before));
  elided.append(Buffer.from(data));
  return elided.textBytes;
}

function written(events: readonly ClientEvent[]): string {
  let text = "";
  for (const event of events) text += formatEvent(event);
  return text;
}
