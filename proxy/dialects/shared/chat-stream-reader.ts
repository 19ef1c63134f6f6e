/**
 * The base of translators that read a stream of chat completion chunks: it reads the usage, the
 * finish reason and the end. Subclasses translate the choices.
 */
import { isAbsent } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";
import { findUsage, mergeUsage } from "../../usage/find-usage.js";
import { streamedChoices } from "./chat-pieces.js";
import { GuardedTranslator, parseEventData } from "./guarded-translator.js";
import { failureOf, hasContent } from "./stop-reasons.js";
import { type JsonObject, UntranslatableAnswer } from "./translation.js";

export abstract class ChatStreamReader extends GuardedTranslator {
  #usage: unknown = null;
  #tier: unknown = null;
  #finish: unknown = null;
  /** Whether a part of an answer has arrived. */
  #hasContent = false;

  /** The merged usage of all chunks so far. */
  override get usage(): unknown {
    return this.#usage;
  }

  /** The service tier; null until a chunk names it. */
  protected get tier(): unknown {
    return this.#tier;
  }

  /** The finish reason; null until a chunk has one. */
  protected get finish(): unknown {
    return this.#finish;
  }

  /** Translates a chunk's choice, before its finish reason is noted. */
  protected abstract translate(choice: JsonObject, chunk: JsonObject): void;

  /** Ends the answer: usage arrives in a chunk after the finish reason. */
  protected abstract complete(): void;

  protected override read(_event: string | null, data: string): void {
    if (data.trim() === "[DONE]") this.complete();
    else this.#chunk(data);
  }

  /** A stream may end without `[DONE]`, which some providers omit. */
  protected override onEarlyEnd(): void {
    if (isAbsent(this.#finish))
      throw new UntranslatableAnswer("the provider's stream ended before the answer was complete");
    this.complete();
  }

  #chunk(data: string): void {
    const chunk = parseEventData(data);
    if (errorBody(chunk) !== null) return this.fail(data, chunk);
    this.#usage = mergeUsage(this.#usage, findUsage(chunk));
    this.#tier = chunk["service_tier"] ?? this.#tier;
    // A chunk without choices reports usage, or the results of a content filter.
    for (const choice of streamedChoices(chunk)) {
      this.#hasContent ||= hasContent(choice);
      const failure = this.#hasContent ? null : failureOf(choice["finish_reason"]);
      if (failure !== null) throw failure;
      this.translate(choice, chunk);
      // Some hosts send an empty reason in every chunk.
      this.#finish = choice["finish_reason"] || this.#finish;
    }
  }
}
