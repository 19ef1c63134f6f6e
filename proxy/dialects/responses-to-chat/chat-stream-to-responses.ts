/** Translates a stream of chat completion chunks to a response's stream of events. */
import { errorBody } from "../../body/error-body.js";
import { writeExactly } from "../../body/exact-json.js";
import { findUsage } from "../../usage/find-usage.js";
import { chatPieces, streamedChoices } from "../shared/chat-pieces.js";
import { parseEventData } from "../shared/guarded-translator.js";
import { failureOf, hasContent } from "../shared/stop-reasons.js";
import {
  type AnswerContext,
  type ClientEvent,
  type EventTranslator,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { ResponseBuilder } from "./response-builder.js";
import type { ResponseEvent } from "./response-event-writer.js";
import { type Ending, readEnding, responseError } from "./response-object.js";

/**
 * A stream that begins with an error becomes one `error` event, so that the gateway can still try
 * another target; a later failure becomes `response.failed`. Both are the last event: what the
 * provider sends after them is ignored.
 */
export class ChatStreamToResponses implements EventTranslator {
  hasFailed = false;
  readonly #provider: string;
  readonly #builder: ResponseBuilder;
  #events: ClientEvent[] = [];
  #state: "new" | "begun" | "ended" = "new";
  /** Whether a part of an answer has arrived. */
  #hasContent = false;
  /** Set with the finish reason. The last event waits for the usage, which arrives later. */
  #ending: Ending | null = null;

  constructor(context: AnswerContext) {
    this.#provider = context.provider;
    this.#builder = new ResponseBuilder(context, (event) => this.#emit(event));
  }

  get heldBytes(): number {
    return this.#builder.size.bytes;
  }

  get unsentChars(): number {
    return this.#builder.unsentChars;
  }

  get usage(): unknown {
    return this.#builder.usage;
  }

  push(_event: string | null, data: string): readonly ClientEvent[] {
    return data === "" ? [] : this.#guard(() => this.#read(data));
  }

  refuse(message: string): readonly ClientEvent[] {
    return this.#guard(() => {
      throw new UntranslatableAnswer(message);
    });
  }

  #guard(step: () => void): readonly ClientEvent[] {
    if (this.#state === "ended") return [];
    try {
      step();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      this.hasFailed = true;
      this.#fail({ message: error.message });
    }
    return this.#drain();
  }

  end(): readonly ClientEvent[] {
    return this.#guard(() => {
      if (this.#ending === null)
        this.#fail({ message: "the provider's stream ended before the answer was complete" });
      else this.#end(this.#ending);
    });
  }

  #read(data: string): void {
    if (data === "[DONE]") return this.#done();
    const chunk = parseEventData(data);
    const error = errorBody(chunk);
    if (error !== null) return this.#fail(error);
    this.#builder.noteUsage(findUsage(chunk), chunk["service_tier"]);
    // A chunk without choices reports usage, or the results of a content filter.
    for (const choice of streamedChoices(chunk)) if (!this.#failsWith(choice)) this.#add(choice);
  }

  /** Whether the choice is a failure of the model, before any content. */
  #failsWith(choice: JsonObject): boolean {
    this.#hasContent ||= hasContent(choice);
    const failure = this.#hasContent ? null : failureOf(choice["finish_reason"]);
    if (failure !== null) this.#fail({ message: failure.message });
    return failure !== null;
  }

  #add(choice: JsonObject): void {
    const reason = choice["finish_reason"];
    this.#begin();
    for (const piece of chatPieces(choice, "delta", this.#provider)) this.#builder.add(piece);
    if (typeof reason === "string" && reason !== "") this.#ending = readEnding(reason, choice);
  }

  #done(): void {
    if (this.#state === "begun") this.#end(this.#ending ?? { status: "completed" });
    else this.#fail({ message: "the provider's stream ended without an answer" });
  }

  #begin(): void {
    if (this.#state !== "new") return;
    this.#state = "begun";
    this.#builder.begin();
  }

  #end(ending: Ending): void {
    this.#begin();
    this.#builder.end(ending);
    this.#state = "ended";
  }

  /**
   * The API's documentation shows the fields of an error event at its top level, while its servers
   * nest them in `error`. Clients read either, so the event has both.
   */
  #fail(providerError: JsonObject): void {
    const error = responseError(providerError);
    if (this.#state === "begun") return this.#end({ status: "failed", error });
    this.#emit({
      type: "error",
      sequence_number: 0,
      code: error["code"],
      message: error["message"],
      param: null,
      error: providerError,
    });
    this.#state = "ended";
  }

  #emit(event: ResponseEvent): void {
    this.#events.push({ event: event.type, data: writeExactly(event) });
  }

  #drain(): readonly ClientEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
