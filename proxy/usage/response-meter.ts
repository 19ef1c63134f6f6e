/**
 * What is seen of an answer while it passes: the events of a stream; of any other the bytes, as
 * long as they are held, or kept to be read. And what it is charged with once it has ended, however
 * it did.
 *
 * Not here: what the client gets of it, and when.
 */
import { readableResponseBytesMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { parseJson } from "../body/json-value.js";
import {
  countUsage,
  joinedNotes,
  type MeteredUsage,
  unmetered,
  whenCut,
  whenTranslationCut,
} from "./count-usage.js";
import { findUsage, usageAtEnd } from "./find-usage.js";
import { absentUsage, readUsage, type UsageReading } from "./read-usage.js";
import { createStreamTap, type StreamTap } from "./tap-stream.js";

/** What was asked. */
export interface Asked {
  /**
   * It says where the text of an answer stands. Null: nobody knows, and only what is told is
   * charged.
   */
  readonly operation: Operation | null;
  readonly promptBytes: () => number;
}

/**
 * What the translation of an answer reports of it beside the bytes that go to the client: the meter
 * sees only those.
 */
export interface TranslationReport {
  /** The usage as the provider reported it, in its own fields; null or undefined: none. */
  readonly usage: unknown;
  /**
   * Bytes of a complete answer that has not ended yet, or that could not be translated; and of the
   * text in an event that was too large.
   */
  readonly untranslatedBytes: number;
  /** Why the rest of a stream was not translated, for the log; or null. */
  readonly refused: string | null;
}

/**
 * `json`: its usage is read. `text`: an estimate counts it, as it does JSON. `bytes`: they tell
 * nothing of tokens. `free`: it isn't charged, whatever it tells.
 */
export type WholeForm = "json" | "text" | "bytes" | "free";

export class ResponseMeter {
  readonly #asked: Asked;
  /** Null: the answer passes in the provider's own words. */
  readonly #told: TranslationReport | null;
  #form: WholeForm = "free";
  #unread: string | null = null;
  /** Set for a stream of events. */
  #tap: StreamTap | null = null;
  #isHeld = false;
  /** Null: nobody needs it, or it is too large. */
  #kept: Buffer[] | null = null;
  #bytes = 0;

  constructor(asked: Asked, told: TranslationReport | null) {
    this.#asked = asked;
    this.#told = told;
  }

  /** Its head says that it is a stream of events. */
  beginStream(hideUsageChunk: boolean): void {
    this.#tap = createStreamTap({
      operation: this.#asked.operation ?? "chat_completions",
      hideUsageChunk,
    });
  }

  /**
   * Or anything else. `isHeld`: nothing of it goes out until it is released. `unread`: why its
   * usage can't be read, for the log.
   */
  beginWhole(form: WholeForm, isHeld: boolean, unread: string | null = null): void {
    this.#form = form;
    this.#unread = unread;
    this.#isHeld = isHeld;
    if (isHeld || form === "json") this.#kept = [];
  }

  get isStream(): boolean {
    return this.#tap !== null;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an event of the stream was an error. */
  get errorSeen(): boolean {
    return this.#tap !== null && this.#tap.errorSeen;
  }

  /** A piece of a stream: what goes to the client for it, as `StreamTap.push` says. */
  push(chunk: Buffer): Buffer | readonly Buffer[] | null {
    this.#bytes += chunk.length;
    return this.#tap!.push(chunk);
  }

  /** The stream has ended: what was held of it and must still go out. */
  endStream(): Buffer | null {
    return this.#tap!.end();
  }

  /** A piece of anything else. */
  keep(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#kept === null) return;
    this.#kept.push(chunk);
    if (!this.#isHeld && this.#bytes > readableResponseBytesMax) this.#kept = null;
  }

  /** What was held so far. From now on it is kept only to be read. */
  release(): readonly Buffer[] {
    const held = this.#kept!;
    this.#isHeld = false;
    if (this.#form !== "json" || this.#bytes > readableResponseBytesMax) this.#kept = null;
    return held;
  }

  /**
   * All of it. Latin-1 keeps every byte as it came, and what is looked for is ASCII. Empty when it
   * isn't kept.
   */
  text(): string {
    if (this.#kept === null) return "";
    return (this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept)).toString(
      "latin1",
    );
  }

  /**
   * What an answer with this text says, if not all of it then its usage; undefined when that isn't
   * asked, or it is no JSON.
   */
  read(text: string): unknown {
    return this.#form === "json" ? (usageAtEnd(text) ?? parseJson(text)) : undefined;
  }

  /**
   * What it is charged when it has ended in order. `answer`: what was read of it, unless it is a
   * stream.
   */
  charged(answer?: unknown): MeteredUsage {
    if (this.#tap !== null)
      return this.#tap.errorSeen
        ? this.chargedCut(this.#told?.refused ?? null, this.#told?.untranslatedBytes)
        : this.#count(this.#reading(this.#tap.usage), this.#tap.contentChars);
    const { usage, estimated, note } = this.#count(
      this.#reading(readUsage(findUsage(answer))),
      this.#textBytes(),
    );
    return {
      usage,
      estimated,
      note:
        this.#form === "json" && this.#kept === null
          ? `usage unknown: the answer is larger than ${readableResponseBytesMax} bytes`
          : note,
    };
  }

  /**
   * What was seen of it when it was cut: marked, unless it was told whole. `untranslatedBytes`: of an
   * event that can't be translated.
   */
  chargedCut(why: string | null, untranslatedBytes = 0): MeteredUsage {
    const { usage, estimated, note } =
      this.#tap === null
        ? this.#count(this.#reading(absentUsage), this.#textBytes())
        : this.#countCut(this.#tap, untranslatedBytes);
    return {
      usage,
      estimated: usage !== null && (this.#tap !== null || estimated),
      note: joinedNotes(why, note),
    };
  }

  #countCut(tap: StreamTap, untranslatedBytes: number): MeteredUsage {
    const contentChars = tap.contentChars + untranslatedBytes;
    return this.#count(
      this.#told === null
        ? whenCut(tap.usage, tap.contentCharsSinceUsage)
        : whenTranslationCut(readUsage(this.#told.usage), contentChars),
      contentChars,
    );
  }

  /** The provider's own word, where the answer that passes here was translated. */
  #reading(seen: UsageReading): UsageReading {
    return this.#told === null ? seen : readUsage(this.#told.usage);
  }

  #textBytes(): number {
    if (this.#form === "bytes") return 0;
    return this.#told === null ? this.#bytes : this.#bytes + this.#told.untranslatedBytes;
  }

  #count(reading: UsageReading, contentChars: number): MeteredUsage {
    if (this.#tap === null && this.#form === "free") return unmetered;
    const counted = countUsage(reading, {
      operation: this.#asked.operation,
      promptBytes: this.#asked.promptBytes,
      contentChars,
    });
    // What a translated stream tells is known from before its translation.
    const unread = this.#tap === null ? this.#unread : this.#told === null ? this.#tap.note : null;
    return unread === null
      ? counted
      : {
          usage: counted.usage,
          estimated: counted.estimated,
          note: joinedNotes(unread, counted.note),
        };
  }
}
