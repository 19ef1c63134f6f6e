/**
 * The client's JSON body while a call may still be sent: its bytes, its fields for translations,
 * and its skeleton, in which long texts are cut short. A search for names, ids or short texts
 * searches the skeleton: that of an agent's session is a tenth of the body. The skeleton of a short
 * body is the body.
 *
 * Not here: which request a target gets (`handlers/json-call.ts`).
 */
import type { BodyOutline } from "./count-values.js";
import { parseObjectExactly, writeExactly } from "./exact-json.js";
import { withoutLoneSurrogates } from "./lone-surrogates.js";
import type { JsonOperation } from "./model-body.js";
import {
  type BodyWithPlaceholders,
  type FilledBody,
  withPlaceholders,
} from "./text-placeholders.js";

type Fields = Readonly<Record<string, unknown>>;

/** The operations in whose translations placeholders may stand for long texts. */
const withLongTexts: ReadonlySet<JsonOperation> = new Set(["chat_completions", "messages"]);

const released = Buffer.alloc(0);

export class ClientBody {
  readonly #operation: JsonOperation;
  #bytes: Buffer;
  #skeleton: Buffer;
  /** Null for a short body, and once released. */
  #outline: BodyOutline | null;
  readonly #mayEscapeHalves: boolean;
  /** The last result of `edited`, if no long text differs in it. */
  #edited: Buffer | null = null;
  /** The last result of `write`, if placeholders were filled. */
  #filled: FilledBody | null = null;
  #fields: Fields | null = null;
  /** `#fields`, if placeholders stand for long texts. */
  #placeholders: BodyWithPlaceholders | null = null;

  /** `outline`: null for a short body. */
  constructor(operation: JsonOperation, bytes: Buffer, outline: BodyOutline | null) {
    this.#operation = operation;
    this.#bytes = bytes;
    this.#skeleton = outline?.skeleton ?? bytes;
    this.#mayEscapeHalves = outline?.escapesHalves ?? true;
    this.#outline = outline;
  }

  /** Empty once released. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** The skeleton of the body or of a body made from it; `bytes` itself if that isn't known. */
  skeletonOf(bytes: Buffer): Buffer {
    if (bytes === this.#bytes || bytes === this.#edited) return this.#skeleton;
    return bytes === this.#filled?.bytes ? this.#filled.skeleton : bytes;
  }

  /** Notes that `result` is `bytes` with another model or option; returns it. */
  edited(bytes: Buffer, result: Buffer): Buffer {
    this.#edited = bytes === this.#bytes ? result : null;
    return result;
  }

  /** Whether `bytes` have the client's fields, perhaps with another model or option. */
  isNative(bytes: Buffer): boolean {
    return bytes === this.#bytes || bytes === this.#edited;
  }

  /** `bytes` without halves of characters; the same Buffer if it has none. */
  withoutLoneSurrogates(bytes: Buffer): Buffer {
    const skeleton = this.skeletonOf(bytes);
    const hasNone =
      skeleton !== bytes && !this.#mayEscapeHalves && withoutLoneSurrogates(skeleton) === skeleton;
    return hasNone ? bytes : withoutLoneSurrogates(bytes);
  }

  /** The fields for a translation, whose result `write` takes; parsed once. */
  fields(): Fields {
    if (this.#fields !== null) return this.#fields;
    const outline = withLongTexts.has(this.#operation) ? this.#outline : null;
    this.#placeholders = outline === null ? null : withPlaceholders(outline);
    this.#fields = this.#placeholders?.fields ?? this.wholeFields();
    return this.#fields;
  }

  /** Whether placeholders stand for long texts in `fields`. */
  get hasPlaceholders(): boolean {
    return this.#placeholders !== null;
  }

  /** The fields without placeholders. */
  wholeFields(): Fields {
    return parseObjectExactly(this.#bytes);
  }

  /** The JSON of a translation of `fields`. */
  write(translated: unknown): Buffer {
    this.#filled = this.#placeholders?.fill(translated) ?? null;
    return this.#filled?.bytes ?? Buffer.from(writeExactly(translated));
  }

  release(): void {
    this.#fields = null;
    this.#placeholders = null;
    this.#bytes = released;
    this.#skeleton = released;
    this.#outline = null;
    this.#edited = null;
    this.#filled = null;
  }
}
