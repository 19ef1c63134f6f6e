/**
 * The base of the stream translators of chat completions and Anthropic messages: it collects the
 * client's events, ends the stream once, and turns an `UntranslatableAnswer` into an error event in
 * the client's format.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { parseBodyExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { readStreamError, type StreamError } from "./error-events.js";
import {
  type ClientEvent,
  type EventTranslator,
  FailedAnswer,
  type JsonObject,
  UntranslatableAnswer,
} from "./translation.js";

const none: readonly ClientEvent[] = [];

export abstract class GuardedTranslator implements EventTranslator {
  #out: ClientEvent[] = [];
  #hasEnded = false;
  #hasFailed = false;

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** By default a translator keeps only a few numbers and names. */
  get heldBytes(): number {
    return 0;
  }

  /** By default each piece passes as it comes. */
  get unsentChars(): number {
    return 0;
  }

  abstract get usage(): unknown;

  push(event: string | null, data: string): readonly ClientEvent[] {
    return this.#collect(() => this.read(event, data), true);
  }

  end(): readonly ClientEvent[] {
    return this.#collect(() => this.onEarlyEnd(), false);
  }

  refuse(message: string): readonly ClientEvent[] {
    return this.#collect(() => {
      throw new UntranslatableAnswer(message);
    }, true);
  }

  /** Reads one event of the upstream. May throw `UntranslatableAnswer`. */
  protected abstract read(event: string | null, data: string): void;

  /** The upstream's stream ended before a call of `close`. May throw `UntranslatableAnswer`. */
  protected abstract onEarlyEnd(): void;

  protected abstract errorEvent(error: StreamError): ClientEvent;

  protected send(event: string | null, value: JsonObject): void {
    this.sendText(event, JSON.stringify(value));
  }

  /** `data` must be JSON. */
  protected sendText(event: string | null, data: string): void {
    this.#out.push({ event, data });
  }

  /**
   * Ends the client's stream, with a last event unless `last` is null. Later events are ignored.
   */
  protected close(last: ClientEvent | null): void {
    if (last !== null) this.#out.push(last);
    this.#hasEnded = true;
  }

  /** Ends the client's stream with the upstream's own error. */
  protected fail(data: string, value: JsonObject): void {
    this.close(this.errorEvent(readStreamError(data, value)));
  }

  /**
   * `byEvent`: whether an error comes from an event of the upstream, and not from the early end of
   * its stream.
   */
  #collect(act: () => void, byEvent: boolean): readonly ClientEvent[] {
    if (this.#hasEnded) return none;
    this.#out = [];
    try {
      act();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      this.#hasFailed = byEvent && !(error instanceof FailedAnswer);
      this.close(
        this.errorEvent({
          type: "provider_error",
          message: error.message,
          code: this.#hasFailed ? "answer_untranslatable" : null,
        }),
      );
    }
    return this.#out;
  }
}

/** The data of an event, which must be a JSON object that can be written as JSON again. */
export function parseEventData(data: string): JsonObject {
  const value = parseBodyExactly(data);
  if (!isObject(value))
    throw new UntranslatableAnswer("the provider's stream has an event that is not a JSON object");
  // Each level takes two brackets, so shorter events need no check.
  if (data.length > 2 * jsonDepthMax && nestedDeeperThan(value, jsonDepthMax))
    throw new UntranslatableAnswer(
      `the provider's stream has an event that is nested deeper than ${jsonDepthMax} levels`,
    );
  return value;
}
