/**
 * What the two translators of streams share: they gather what one event gives, they end once, and
 * what can't be translated becomes an error event in the client's shape instead of an exception.
 */
import { isObject } from "../../../shared/assert.js";
import { parseBodyExactly } from "../../body/exact-json.js";
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
  #over = false;
  #failed = false;

  get failed(): boolean {
    return this.#failed;
  }

  abstract get usage(): unknown;

  push(event: string | null, data: string): readonly ClientEvent[] {
    return this.#gather(() => this.read(event, data), true);
  }

  end(): readonly ClientEvent[] {
    return this.#gather(() => this.ended(), false);
  }

  refuse(message: string): readonly ClientEvent[] {
    return this.#gather(() => {
      throw new UntranslatableAnswer(message);
    }, true);
  }

  /** One event of the upstream. May throw `UntranslatableAnswer`. */
  protected abstract read(event: string | null, data: string): void;

  /** The upstream's stream ended before the answer was over. May throw `UntranslatableAnswer`. */
  protected abstract ended(): void;

  protected abstract errorEvent(error: StreamError): ClientEvent;

  protected send(event: string | null, value: JsonObject): void {
    this.#out.push({ event, data: JSON.stringify(value) });
  }

  /**
   * The last event, if there is one, has been sent: what the upstream says after this is passed
   * over.
   */
  protected close(last: ClientEvent | null): void {
    if (last !== null) this.#out.push(last);
    this.#over = true;
  }

  /** The upstream's own error, in the client's shape. */
  protected fail(data: string, value: JsonObject): void {
    this.close(this.errorEvent(readStreamError(data, value)));
  }

  /**
   * `saying`: what the upstream has said is at fault for what can't be translated, not that it said
   * no more.
   */
  #gather(act: () => void, saying: boolean): readonly ClientEvent[] {
    if (this.#over) return none;
    this.#out = [];
    try {
      act();
    } catch (error) {
      if (!(error instanceof UntranslatableAnswer)) throw error;
      this.#failed = saying && !(error instanceof FailedAnswer);
      this.close(
        this.errorEvent({
          type: "provider_error",
          message: error.message,
          code: this.#failed ? "answer_untranslatable" : null,
        }),
      );
    }
    return this.#out;
  }
}

/** The object that an event's data is. */
export function parseEventData(data: string): JsonObject {
  const value = parseBodyExactly(data);
  if (!isObject(value))
    throw new UntranslatableAnswer("the provider's stream has an event that is not a JSON object");
  return value;
}
