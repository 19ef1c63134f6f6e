/** Two translations as one: client — outer — a dialect in the middle — inner — provider. */
import type {
  AnswerContext,
  ClientEvent,
  EventTranslator,
  JsonObject,
  RequestOptions,
  TranslatedRequest,
  Translation,
} from "./translation/translation.js";

/**
 * Requests go through `outer`, then `inner`; answers and events the other way. A field that `inner`
 * refuses is named as the middle dialect calls it, and the message says so.
 */
export function composeTranslations(outer: Translation, inner: Translation): Translation {
  return {
    request(body, options) {
      const middle = outer.request(body, options);
      if (!middle.ok) return middle;
      const translated = inner.request(middle.body, options);
      return translated.ok ? translated : inMiddleDialect(translated);
    },
    answer: (body, context) =>
      outer.answer(inner.answer(body, innerContext(outer, context)), context),
    asEvents: (body) => inner.asEvents(body),
    events: (context) =>
      new PipedEvents(outer.events(context), inner.events(innerContext(outer, context))),
  };
}

function inMiddleDialect({
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
 * What an answer's middle form is told of the request doesn't depend on how many tokens are the
 * default.
 */
const anyOptions: RequestOptions = { maxTokensDefault: 1 };

/** The inner translation's client is the outer one. */
function innerContext(
  outer: Translation,
  { model, nowSeconds, requestId, request }: AnswerContext,
): AnswerContext {
  const middle = outer.request(request, anyOptions);
  const middleBody: JsonObject = middle.ok ? middle.body : {};
  return { model, nowSeconds, requestId, request: middleBody };
}

class PipedEvents implements EventTranslator {
  readonly #outer: EventTranslator;
  readonly #inner: EventTranslator;

  constructor(outer: EventTranslator, inner: EventTranslator) {
    this.#outer = outer;
    this.#inner = inner;
  }

  get usage(): unknown {
    return this.#inner.usage;
  }

  get failed(): boolean {
    return this.#inner.failed || this.#outer.failed;
  }

  push(event: string | null, data: string): readonly ClientEvent[] {
    return this.#pipe(this.#inner.push(event, data), []);
  }

  refuse(message: string): readonly ClientEvent[] {
    return this.#pipe(this.#inner.refuse(message), []);
  }

  end(): readonly ClientEvent[] {
    const events = this.#pipe(this.#inner.end(), []);
    events.push(...this.#outer.end());
    return events;
  }

  #pipe(from: readonly ClientEvent[], into: ClientEvent[]): ClientEvent[] {
    for (const { event, data } of from) into.push(...this.#outer.push(event, data));
    return into;
  }
}
