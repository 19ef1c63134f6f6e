/**
 * The interface of a translation between two dialects: requests one way, answers and events the
 * other. Pure functions over JSON; `translate-answer.ts` parses and writes the bytes.
 */
import type { Failure } from "../../../shared/error-code.js";

export type JsonObject = Readonly<Record<string, unknown>>;

/** The object with only these of its fields. */
export function fieldsOf(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)));
}

/**
 * A request body in another dialect, or a 400 that names a field. `dropped` names the fields, as
 * the client wrote them, that the other dialect doesn't have: the answer is still what the client
 * requested, but may differ.
 */
export type TranslatedRequest =
  | { readonly ok: true; readonly body: JsonObject; readonly dropped: readonly string[] }
  | { readonly ok: false; readonly failure: Failure };

export interface RequestOptions {
  /** The limit for a dialect that requires one, if the client sent none. */
  readonly maxTokensDefault: number;
  /** Whether to refuse fields without a counterpart, rather than drop them. */
  readonly isStrict: boolean;
  /** Whether the provider of chat completions accepts tools with free text as their input. */
  readonly takesCustomTools: boolean;
  /** The provider's name: only the provider that encrypted some reasoning can read it. */
  readonly provider: string;
  /** Whether a tool's result may hold images and files, as in the Responses API. */
  readonly takesFilesInResults: boolean;
  /** Whether thinking without a signature may go back: not to Anthropic's models. */
  readonly takesUnsignedThinking: boolean;
  /** Whether the provider fetches a file from its address; not by chat completions. */
  readonly takesFileUrls: boolean;
}

export interface AnswerContext {
  /** The name that the client used. */
  readonly model: string;
  readonly nowSeconds: number;
  /** A unique id, used to make the ids that an answer lacks. */
  readonly requestId: string;
  /** The provider's name, as in `RequestOptions`. */
  readonly provider: string;
  /** The form of the client's stream: server-sent events, or one array of their data. */
  readonly streamForm?: "events" | "array";
  /** The `stream` of the client's body, and the fields of it that answers repeat. */
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
   * Translates one event of the upstream, with its `event:` name (null when unnamed) and its data
   * as text, to the client's events.
   */
  push(event: string | null, data: string): readonly ClientEvent[];
  /** The upstream's stream ended normally: the client's remaining events. */
  end(): readonly ClientEvent[];
  /** Ends the client's stream with an error, because the upstream's next event can't be read. */
  refuse(message: string): readonly ClientEvent[];
  /**
   * Whether an event couldn't be translated, so that the client's stream has ended with an error.
   * False if the upstream's stream ended too early.
   */
  readonly hasFailed: boolean;
  /** The approximate memory of the stream's state, in bytes. */
  readonly heldBytes: number;
  /** The characters of calls that have arrived but haven't been sent to the client. */
  readonly unsentChars: number;
  /** The upstream's usage so far, in its own fields; null or undefined if there is none yet. */
  readonly usage: unknown;
}

export interface Translation {
  /** The fields of the client's body that its answers repeat. */
  readonly echoedFields: readonly string[];
  /**
   * The object that contains these fields, if it isn't the body. It is kept until the answer ends.
   */
  echoSource?(body: JsonObject): JsonObject;
  /** Translates the client's request. `model` is unchanged; the caller sets it afterwards. */
  request(body: JsonObject, options: RequestOptions): TranslatedRequest;
  /** Translates a complete successful answer. Throws `UntranslatableAnswer`. */
  answer(body: JsonObject, context: AnswerContext): JsonObject;
  /** A complete answer as events of the upstream's own dialect, for `events` to translate. */
  asEvents(body: JsonObject): readonly ClientEvent[];
  /**
   * Translates a streamed answer. Its events always include usage: `tap-stream.ts` removes it for
   * clients that didn't request it.
   */
  events(context: AnswerContext): EventTranslator;
}

/**
 * Thrown for an answer that isn't valid in the provider's dialect, or has content for which the
 * client's dialect has no field. The message is a sentence for the log and the client.
 */
export class UntranslatableAnswer extends Error {
  override name = "UntranslatableAnswer";
}

/** Thrown for an answer that ended in a failure: a retry, or another target, may succeed. */
export class FailedAnswer extends UntranslatableAnswer {
  override name = "FailedAnswer";
}
