/**
 * What a translation between two dialects is: requests one way, answers and events the other. Pure
 * functions over JSON; whoever uses one frames the bytes.
 */
import type { Failure } from "../../../shared/error-code.js";

export type JsonObject = Readonly<Record<string, unknown>>;

/** A request body in another dialect, or a 400 that names the field which can't be said in it. */
export type TranslatedRequest =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly failure: Failure };

export interface RequestOptions {
  /** For a dialect that requires a limit where the client gave none. */
  readonly maxTokensDefault: number;
}

export interface AnswerContext {
  /** As the client named it. */
  readonly model: string;
  readonly nowSeconds: number;
  readonly requestId: string;
  /** The client's body. */
  readonly request: JsonObject;
}

/** `data` is JSON text, or `[DONE]`. */
export interface ClientEvent {
  readonly event: string | null;
  readonly data: string;
}

/** Turns the upstream's events into the client's. */
export interface EventTranslator {
  /**
   * One event of the upstream: its `event:` name (null when unnamed) and its data as text. What the
   * client gets for it, in order.
   */
  push(event: string | null, data: string): readonly ClientEvent[];
  /** The upstream's stream ended in order: whatever is still owed to the client. */
  end(): readonly ClientEvent[];
  /**
   * What the upstream says next can't be given to `push`: the client is told why, and nothing more.
   */
  refuse(message: string): readonly ClientEvent[];
  /**
   * What the upstream has said can't be translated: the client has been told, and nothing more will
   * be. Not for a stream that ended too early.
   */
  readonly failed: boolean;
  /**
   * What the upstream has told of its usage so far, in its own fields; null or undefined: nothing
   * yet.
   */
  readonly usage: unknown;
}

export interface Translation {
  /**
   * The client's request as the upstream's. `model` is left as it is; the caller sets it
   * afterwards.
   */
  request(body: JsonObject, options: RequestOptions): TranslatedRequest;
  /** A whole successful answer of the upstream as the client's. */
  answer(body: JsonObject, context: AnswerContext): JsonObject;
  /**
   * A whole successful answer of the upstream as the events that a stream of its would have had.
   */
  asEvents(body: JsonObject): readonly ClientEvent[];
  /**
   * For a streamed answer. Its usage is told to whoever reads it, asked for or not: `tap-stream.ts`
   * keeps it from clients that didn't ask.
   */
  events(context: AnswerContext): EventTranslator;
}

/**
 * Thrown for an answer that isn't valid in the provider's dialect, or has content that the client's
 * dialect has no place for. The message is a sentence for the log and the client.
 */
export class UntranslatableAnswer extends Error {
  override name = "UntranslatableAnswer";
}

/** Thrown for an answer that ended in a failure: a retry, or another target, may succeed. */
export class FailedAnswer extends UntranslatableAnswer {
  override name = "FailedAnswer";
}
