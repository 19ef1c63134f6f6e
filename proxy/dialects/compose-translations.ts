/** Joins two translations: client ↔ outer ↔ the middle dialect ↔ inner ↔ provider. */
import { append } from "../../shared/long-lists.js";
import type {
  AnswerContext,
  ClientEvent,
  EventTranslator,
  TranslatedRequest,
  Translation,
} from "./shared/translation.js";

/**
 * Requests go through `outer`, then `inner`; answers and events go the other way. If `inner`
 * refuses a field, the message has the field's name in the middle dialect, and notes that it was
 * translated.
 */
export function composeTranslations(outer: Translation, inner: Translation): Translation {
  return {
    echoedFields: outer.echoedFields,
    echoSource: (body) => outer.echoSource?.(body) ?? body,
    request(body, options) {
      const middle = outer.request(body, options);
      if (!middle.ok) return middle;
      const translated = inner.request(middle.body, options);
      if (!translated.ok) return toMiddleDialect(translated);
      const dropped = [...new Set([...middle.dropped, ...translated.dropped])];
      return { ok: true, body: translated.body, dropped };
    },
    answer: (body, context) => outer.answer(inner.answer(body, innerContext(context)), context),
    asEvents: (body) => inner.asEvents(body),
    events: (context) =>
      new PipedEvents(outer.events(context), inner.events(innerContext(context))),
  };
}

function toMiddleDialect({
  failure,
}: TranslatedRequest & { readonly ok: false }): TranslatedRequest {
  const { status, type, message, code, param, provider } = failure;
  return {
    ok: false,
    failure: {
      status,
      type,
      message: `in the translated request, ${message}`,
      code,
      param,
      provider,
    },
  };
}

/**
 * The context has the client's request, which only `outer` can read, so `inner` repeats nothing of
 * it.
 */
function innerContext(context: AnswerContext): AnswerContext {
  return { ...context, request: {} };
}

class PipedEvents implements EventTranslator {
  readonly #outer: EventTranslator;
  readonly #inner: EventTranslator;

  constructor(outer: EventTranslator, inner: EventTranslator) {
    this.#outer = outer;
    this.#inner = inner;
  }

  get heldBytes(): number {
    return this.#inner.heldBytes + this.#outer.heldBytes;
  }

  get unsentChars(): number {
    return this.#inner.unsentChars + this.#outer.unsentChars;
  }

  get usage(): unknown {
    return this.#inner.usage;
  }

  get hasFailed(): boolean {
    return this.#inner.hasFailed || this.#outer.hasFailed;
  }

  push(event: string | null, data: string): readonly ClientEvent[] {
    return this.#pipe(this.#inner.push(event, data));
  }

  refuse(message: string): readonly ClientEvent[] {
    return this.#pipe(this.#inner.refuse(message));
  }

  end(): readonly ClientEvent[] {
    const events = this.#pipe(this.#inner.end());
    append(events, this.#outer.end());
    return events;
  }

  #pipe(from: readonly ClientEvent[]): ClientEvent[] {
    const events: ClientEvent[] = [];
    for (const { event, data } of from) append(events, this.#outer.push(event, data));
    return events;
  }
}
