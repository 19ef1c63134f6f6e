/**
 * The Responses API for providers that only have chat completions: the client speaks
 * `/v1/responses`, the provider `/chat/completions`. What of it can be said, and what is refused,
 * stands in `docs/dialects-responses.md`.
 */
import { isObject } from "../../../shared/assert.js";
import { errorBody } from "../../body/error-body.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { findUsage } from "../../usage/find-usage.js";
import { chatAnswerAsEvents } from "../translation/answer-as-events.js";
import { chatPieces } from "../translation/chat-pieces.js";
import {
  type AnswerContext,
  type ClientEvent,
  type EventTranslator,
  type JsonObject,
  type Translation,
  UntranslatableAnswer,
} from "../translation/translation.js";
import { type Ending, ResponseBuilder, type ResponseEvent } from "./response-builder.js";
import { responsesRequestToChat } from "./responses-request-to-chat.js";

export const responsesToChat: Translation = {
  request: (body) => responsesRequestToChat(body),
  answer: responseOf,
  asEvents: chatAnswerAsEvents,
  events: (context) => new ResponseEvents(context),
};

/**
 * A completion that holds an error in its place becomes a response that failed. Throws
 * UntranslatableAnswer.
 */
function responseOf(body: JsonObject, context: AnswerContext): JsonObject {
  const builder = new ResponseBuilder(context, () => {});
  const choice = firstChoice(body);
  builder.note(findUsage(body), body["service_tier"]);
  if (choice === null) {
    const error = errorBody(body);
    if (error !== null) return builder.end({ status: "failed", error: errorOf(error) });
    throw new UntranslatableAnswer("the answer has no choices");
  }
  for (const piece of chatPieces(choice, true)) builder.take(piece);
  return builder.end(endingOf(choice["finish_reason"], choice));
}

/** Sluice asks for one choice; what calls itself another one isn't looked at. */
function firstChoice(body: JsonObject): JsonObject | null {
  const choices = body["choices"];
  if (!Array.isArray(choices)) return null;
  for (const choice of choices) if (isObject(choice) && (choice["index"] ?? 0) === 0) return choice;
  return null;
}

/**
 * Beside OpenAI's reasons: Mistral's `model_length`, OpenRouter's `error`, DeepSeek's
 * `insufficient_system_resource`. Any other is an end in order.
 */
function endingOf(reason: unknown, choice: JsonObject | null): Ending {
  if (reason === "length" || reason === "model_length")
    return { status: "incomplete", reason: "max_output_tokens" };
  if (reason === "content_filter") return { status: "incomplete", reason: "content_filter" };
  if (reason === "error" || reason === "insufficient_system_resource")
    return { status: "failed", error: errorOf(choice?.["error"]) };
  return { status: "completed" };
}

/** In the two codes that the API has for it. */
function errorOf(error: unknown): JsonObject {
  const { code, type, message } = isObject(error) ? error : {};
  const limited =
    code === 429 ||
    code === "429" ||
    code === "rate_limit_exceeded" ||
    (typeof type === "string" && type.includes("rate_limit"));
  return {
    code: limited ? "rate_limit_exceeded" : "server_error",
    message:
      typeof message === "string" && message !== ""
        ? message
        : "the provider ended its answer with an error",
  };
}

/**
 * A stream that begins with an error gives one `error` event, so that the gateway can still ask
 * another target; later a failure is `response.failed`. Both are the end: what comes after them
 * isn't looked at.
 */
class ResponseEvents implements EventTranslator {
  failed = false;
  readonly #builder: ResponseBuilder;
  #events: ClientEvent[] = [];
  #state: "new" | "begun" | "ended" = "new";
  /** Set with the reason to finish. The end waits for the usage, which comes after it. */
  #ending: Ending | null = null;

  constructor(context: AnswerContext) {
    this.#builder = new ResponseBuilder(context, (event) => this.#emit(event));
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

  #guard(read: () => void): readonly ClientEvent[] {
    if (this.#state === "ended") return [];
    try {
      read();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      this.failed = true;
      this.#fail({ message: error.message });
    }
    return this.#drain();
  }

  end(): readonly ClientEvent[] {
    if (this.#state === "ended") return [];
    if (this.#ending === null)
      this.#fail({ message: "the provider's stream ended before its answer did" });
    else this.#end(this.#ending);
    return this.#drain();
  }

  #read(data: string): void {
    if (data === "[DONE]") return this.#end(this.#ending ?? { status: "completed" });
    const chunk = parseBodyExactly(data);
    if (!isObject(chunk))
      throw new UntranslatableAnswer("an event of the stream is no JSON object");
    const error = errorBody(chunk);
    if (error !== null) return this.#fail(error);
    this.#builder.note(findUsage(chunk), chunk["service_tier"]);
    // A chunk without choices tells usage, or what a filter saw.
    const choice = firstChoice(chunk);
    if (choice === null) return;
    this.#begin();
    for (const piece of chatPieces(choice, false)) this.#builder.take(piece);
    const reason = choice["finish_reason"];
    if (typeof reason === "string" && reason !== "") this.#ending = endingOf(reason, choice);
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
   * The API's page shows an error event's fields flat, its servers nest them; clients read the one
   * or the other.
   */
  #fail(error: JsonObject): void {
    const said = errorOf(error);
    if (this.#state === "begun") return this.#end({ status: "failed", error: said });
    const { code, message } = said;
    this.#emit({ type: "error", sequence_number: 0, code, message, param: null, error });
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
