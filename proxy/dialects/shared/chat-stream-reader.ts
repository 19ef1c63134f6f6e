/**
 * The reading half of translators of a stream of chat completion chunks: usage, the finish reason
 * and the end. What becomes of a choice is theirs.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { errorBody } from "../../body/error-body.js";
import { findUsage, mergeUsage } from "../../usage/find-usage.js";
import type { CallPiece } from "./chat-pieces.js";
import { GuardedTranslator, parseEventData } from "./guarded-translator.js";
import { type JsonObject, UntranslatableAnswer } from "./translation.js";

export abstract class ChatStreamReader extends GuardedTranslator {
  #usage: unknown = null;
  #tier: unknown = null;
  #finish: unknown = null;

  /** Of all chunks so far. */
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

  /** Some providers omit `[DONE]`. */
  protected override ended(): void {
    if (isAbsent(this.#finish))
      throw new UntranslatableAnswer("the provider's stream ended before the answer was complete");
    this.complete();
  }

  #chunk(data: string): void {
    const chunk = parseEventData(data);
    if (errorBody(chunk) !== null) return this.fail(data, chunk);
    this.#usage = mergeUsage(this.#usage, findUsage(chunk));
    this.#tier = chunk["service_tier"] ?? this.#tier;
    // A chunk without choices reports usage, or the findings of a content filter.
    const choice: unknown = Array.isArray(chunk["choices"]) ? chunk["choices"][0] : undefined;
    if (!isObject(choice)) return;
    this.translate(choice, chunk);
    // Some hosts have an empty one in every chunk.
    this.#finish = choice["finish_reason"] || this.#finish;
  }
}

export class CallTracker {
  /** The ids of all calls, by index. */
  readonly #ids = new Map<number, string>();
  #lastIndex = -1;

  /** `isOpen`: the last call may still be continued. */
  indexOf({ index, id }: CallPiece, isOpen: boolean): number {
    if (index !== null) return index;
    const isNew = !isOpen || (id !== null && id !== this.#ids.get(this.#lastIndex));
    return isNew ? this.#ids.size : this.#lastIndex;
  }

  /** A call begins with a new index, or with a name and another id. */
  isNew({ name, id }: CallPiece, index: number): boolean {
    const known = this.#ids.get(index);
    return known === undefined || (name !== null && id !== null && id !== known);
  }

  begin(index: number, id: string): void {
    this.#ids.set(index, id);
    this.#lastIndex = index;
  }

  isLast(index: number): boolean {
    return index === this.#lastIndex;
  }
}

export function continuedCall(): UntranslatableAnswer {
  return new UntranslatableAnswer(
    "the provider's answer continues a tool call after other content has followed it",
  );
}
