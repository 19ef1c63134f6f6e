/** A translation's answers and events as bytes: JSON is parsed and written, events are split and framed. */
import { isObject } from "../shared/assert.js";
import { streamEventBytesMax } from "../shared/bounds.js";
import { EventSplitter, formatEvent } from "./dialects/event-stream.js";
import type { AnswerContext, ClientEvent, EventTranslator, JsonObject, Translation } from "./dialects/translation.js";
import { UntranslatableAnswer } from "./dialects/untranslatable-answer.js";
import { findUsage, parseJson } from "./read-usage.js";
import type { AnswerTranslator } from "./translated-upstream.js";
import { errorInsideSuccess } from "./upstream-error.js";

export function createAnswerTranslator(translation: Translation, context: AnswerContext): AnswerTranslator {
  return new Translating(translation, context);
}

class Translating implements AnswerTranslator {
  readonly #translation: Translation;
  readonly #context: AnswerContext;
  readonly #splitter = new EventSplitter();
  #events: EventTranslator | null = null;
  #usage: unknown = null;

  constructor(translation: Translation, context: AnswerContext) {
    this.#translation = translation;
    this.#context = context;
  }

  get usage(): unknown {
    return this.#events === null ? this.#usage : this.#events.usage;
  }

  get failed(): boolean {
    return this.#events !== null && this.#events.failed;
  }

  whole(body: Buffer): Buffer {
    const value = parseJson(body.toString("utf8"));
    // An error in the place of an answer is mapped by what comes behind, as every provider's is.
    if (errorInsideSuccess(value)) return body;
    if (!isObject(value)) throw new UntranslatableAnswer("its answer is not a JSON object");
    this.#usage = findUsage(value);
    return Buffer.from(JSON.stringify(this.#translation.answer(value as JsonObject, this.#context)));
  }

  push(chunk: Buffer): Buffer | null {
    const events = this.#started();
    let text = "";
    for (const { event, data } of this.#splitter.push(chunk)) text += written(events.push(event, data));
    if (this.#splitter.overflowed) throw new UntranslatableAnswer(`an event of its stream is larger than ${streamEventBytesMax} characters`);
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

function written(events: readonly ClientEvent[]): string {
  let text = "";
  for (const event of events) text += formatEvent(event);
  return text;
}
