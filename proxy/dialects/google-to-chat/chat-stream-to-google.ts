/**
 * Translates a stream of chat completion chunks to the chunks of Gemini's own API. Each of them is
 * a response with the parts that are new; the last one has the reason for the end, and the usage.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";
import { writeExactly } from "../../body/exact-json.js";
import { findUsage, mergeUsage } from "../../usage/find-usage.js";
import { chatPieces } from "../translation/chat-pieces.js";
import { googleErrorEvent } from "../translation/error-events.js";
import { GuardedTranslator, parseEventData } from "../translation/guarded-translator.js";
import { googleUsage } from "../translation/translate-usage.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../translation/translation.js";
import { CandidateParts } from "./candidate-parts.js";
import { lastCandidate, responseId } from "./chat-answer-to-google.js";

export class ChatStreamToGoogle extends GuardedTranslator {
  readonly #context: AnswerContext;
  readonly #candidate: CandidateParts;
  /** Of the chunk that is being read. */
  #parts: JsonObject[] = [];
  /** Null: nothing of an answer has come yet. */
  #id: string | null = null;
  #usage: unknown = null;
  #finish: unknown = null;
  protected override readonly errorEvent = googleErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#candidate = new CandidateParts(context, (part) => void this.#parts.push(part));
  }

  override get usage(): unknown {
    return this.#usage;
  }

  override get heldBytes(): number {
    return this.#candidate.heldBytes;
  }

  protected override read(_event: string | null, data: string): void {
    if (data.trim() === "[DONE]") this.#end();
    else this.#chunk(data);
  }

  /** Some providers omit `[DONE]`. */
  protected override ended(): void {
    if (isAbsent(this.#finish))
      throw new UntranslatableAnswer("the provider's stream ended before the answer was complete");
    this.#end();
  }

  #chunk(data: string): void {
    const chunk = parseEventData(data);
    if (errorBody(chunk) !== null) return this.fail(data, chunk);
    this.#usage = mergeUsage(this.#usage, findUsage(chunk));
    // A chunk without choices reports usage, or the findings of a content filter.
    const choice: unknown = Array.isArray(chunk["choices"]) ? chunk["choices"][0] : undefined;
    if (!isObject(choice)) return;
    this.#id ??= responseId(chunk["id"], this.#context);
    for (const piece of chatPieces(choice, "delta")) this.#candidate.add(piece);
    if (this.#parts.length > 0) {
      this.#send({ content: { role: "model", parts: this.#parts }, index: 0 });
      this.#parts = [];
    }
    // Some hosts have an empty one in every chunk.
    this.#finish = choice["finish_reason"] || this.#finish;
  }

  /** Usage arrives in a chunk after the finish reason, so the answer ends with the stream. */
  #end(): void {
    if (this.#id === null)
      throw new UntranslatableAnswer("the provider's stream ended without an answer");
    const finish = this.#candidate.end(this.#finish);
    this.#send(lastCandidate(this.#parts, finish), { usageMetadata: googleUsage(this.#usage) });
    this.close(null);
  }

  #send(candidate: JsonObject, more: JsonObject = {}): void {
    const chunk = {
      candidates: [candidate],
      ...more,
      modelVersion: this.#context.model,
      responseId: this.#id,
    };
    this.sendText(null, writeExactly(chunk));
  }
}
