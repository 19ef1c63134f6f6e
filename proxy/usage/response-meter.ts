/**
 * Meters one response while it passes: the events of a stream, or the bytes of any other response.
 * The meter keeps those bytes while the response is held, and reads them in passing afterwards.
 * When the response ends, completely or not, it returns the usage.
 *
 * Not here: what the client gets, and when; what is charged (`charge.ts`).
 */
import { heldPieceBytes } from "../../shared/bounds.js";
import { parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import type { ToolCalls } from "../../shared/usage/tool-calls.js";
import { JsonPicker } from "../body/json-picker.js";
import type { AnswerMemory } from "../capacity/memory-ledger.js";
import type { RequestBody } from "../upstream/upstream.js";
import { toolCallsIn, withCountedCalls } from "./answered-tools.js";
import {
  charsPerToken,
  countUsage,
  estimateTokens,
  joinedNotes,
  leavesOutInput,
  leavesOutText,
  type MeteredUsage,
  splitTotal,
  unmetered,
  usageOfCutStream,
  usageOfCutTranslation,
} from "./count-usage.js";
import { findUsage, modelNamedIn, usageAtEnd, usagePicks } from "./find-usage.js";
import { textInAnswer } from "./other-text.js";
import { absentUsage, readUsage, type UsageReading } from "./read-usage.js";
import { createStreamTap, type StreamTap } from "./tap-stream.js";

/** The parts of the request that an estimate needs. */
interface MeteredRequest {
  /**
   * Determines which parts of an answer are text. Null if unknown; then only reported usage is
   * charged.
   */
  readonly operation: Operation | null;
  readonly promptBytes: () => number;
  readonly request: { readonly body: RequestBody };
  /** Whether to find the model that the answer names: its target has no price. */
  readonly readsModel?: boolean;
}

/**
 * The facts that the translation of an answer reports, since the meter sees only the bytes for the
 * client.
 */
export interface TranslationReport {
  /**
   * The usage as the provider reported it, in the provider's fields; null or undefined if there is
   * none.
   */
  readonly usage: unknown;
  /**
   * Bytes of a complete answer that hasn't ended yet, or that couldn't be translated; and of the
   * text in an event that was too large.
   */
  readonly untranslatedBytes: number;
  /**
   * For a stream that hard caps count: the amount of text in the provider's events since the first
   * one whose translation was empty. A translation may hold a call until it is complete, or drop
   * content that the client's dialect lacks.
   */
  readonly textSinceUnsent?: number;
  /** The characters of calls that a translation of a stream holds back until they are complete. */
  readonly unsentChars?: number;
  /** Why the rest of a stream wasn't translated, for the log; or null. */
  readonly refused: string | null;
  /** Whether an event couldn't be translated; the client got an error instead. */
  readonly hasFailed?: boolean;
}

/** The part of a report with the output so far. */
export interface Translated {
  readonly usage: unknown;
  readonly textSinceUnsent: number;
}

/**
 * How to meter a response that isn't a stream of events. `json`: read its usage. `text`: count its
 * bytes for an estimate, as for JSON. `bytes`: its length says nothing about tokens. `unmetered`:
 * don't charge it, whatever it reports.
 */
export type BodyForm = "json" | "text" | "bytes" | "unmetered";

/** Anthropic begins a stream with an output of a few tokens, before the model has reasoned. */
const placeholderTokens = 10;

export class ResponseMeter {
  readonly #request: MeteredRequest;
  /** Null if the answer isn't translated. */
  readonly translation: TranslationReport | null;
  readonly #memory: AnswerMemory;
  #form: BodyForm = "unmetered";
  /** Why the usage can't be read, for the log. */
  #unreadable: string | null = null;
  /** Set for an event stream. */
  #tap: StreamTap | null = null;
  /** How many bytes of a stream's text count as a token. */
  #bytesPerToken = charsPerToken;
  /** Whether hard caps count the stream. */
  #isCapped = false;
  /** The held pieces; null if nothing is held. */
  #pieces: Buffer[] | null = null;
  #keptBytes = 0;
  #isFull = false;
  /** Reads JSON that isn't held. */
  #passing: JsonPicker | null = null;
  #bytes = 0;
  /** The last usage that `outputSeen` read, with the amount of text before it. */
  #counted: { readonly usage: unknown; readonly tokens: number; readonly chars: number } = {
    usage: null,
    tokens: 0,
    chars: 0,
  };
  #inputSeen = 0;
  /**
   * The text of a translated stream before the first event with an empty translation; null if all
   * were empty.
   */
  #sentBytes: number | null = null;
  #model: string | null = null;
  /** The text that `read` parsed; empty for an answer that isn't held. */
  #text = "";
  /** The tool calls of an answer that isn't a stream. */
  #toolCalls: ToolCalls | undefined = undefined;

  constructor(
    request: MeteredRequest,
    translation: TranslationReport | null,
    memory: AnswerMemory,
  ) {
    this.#request = request;
    this.translation = translation;
    this.#memory = memory;
  }

  /**
   * Starts metering a stream of events. `capped`: the number of bytes that count as a token until
   * the usage is reported, for a stream that may be cut after any event; null if it can't be cut.
   */
  beginStream(
    hideUsageChunk: boolean,
    capped: { readonly bytesPerToken: number } | null = null,
  ): void {
    if (capped !== null) {
      this.#bytesPerToken = capped.bytesPerToken;
      this.#isCapped = true;
    }
    this.#tap = createStreamTap({
      operation: this.#request.operation ?? "chat_completions",
      hideUsageChunk,
      passesWholeEvents: capped !== null,
    });
  }

  /**
   * Starts metering any other response: one that is `held` until `release`, or `passed` on as it
   * arrives. `unreadable`: why the usage can't be read, for the log.
   */
  beginBody(form: BodyForm, mode: "held" | "passed", unreadable: string | null = null): void {
    this.#form = form;
    this.#unreadable = unreadable;
    if (mode === "held") this.#pieces = [];
    else if (form === "json") this.#passing = new JsonPicker(usagePicks);
  }

  get isStream(): boolean {
    return this.#tap !== null;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an event of the stream was an error. */
  get errorSeen(): boolean {
    return this.#tap?.hasSeenError === true;
  }

  /** Whether the stream is nothing but a failure of the model. */
  get isFailed(): boolean {
    return this.#tap?.isFailed === true;
  }

  /** Whether the first event of the stream was an error, apart from keep-alives. */
  get beginsWithError(): boolean {
    if (this.#tap?.beginsWithError !== true) return false;
    const translation = this.translation;
    // The error may come from the translation, or follow usage that the client's dialect can't
    // express.
    return (
      translation === null ||
      (translation.hasFailed !== true &&
        translation.untranslatedBytes === 0 &&
        readUsage(translation.usage).kind === "absent")
    );
  }

  /** Whether the last event of a stream has passed, and all of its usage. */
  get isUsageComplete(): boolean {
    const tap = this.#tap;
    if (tap === null || !tap.finished || tap.hasSeenError || tap.note !== null) return false;
    if (this.translation !== null) return readUsage(this.translation.usage).kind === "usage";
    return tap.contentCharsSinceUsage === 0 && tap.usage.kind === "usage";
  }

  /** Whether the answer has ended, although its last events may be missing. */
  get isFinished(): boolean {
    return this.#tap?.finished === true;
  }

  /** As in `StreamTap`. */
  get isBetweenEvents(): boolean {
    return this.#tap?.isBetweenEvents === true;
  }

  /** The amount of text in the stream. */
  get textBytes(): number {
    const { unsentChars = 0, textSinceUnsent = 0 } = this.translation ?? {};
    return Math.max(this.#textWith(textSinceUnsent), this.#textWith(0) + unsentChars);
  }

  #textWith(textSinceUnsent: number): number {
    const sent = this.#tap?.contentChars ?? 0;
    return this.#sentBytes === null ? sent : Math.max(sent, this.#sentBytes + textSinceUnsent);
  }

  /** The translation of a provider's event was empty. */
  noteUnsent({ textSinceUnsent }: Translated): void {
    if (textSinceUnsent > 0) this.#sentBytes ??= this.#tap!.contentChars;
  }

  /** Whether a part of `textBytes` is only an upper bound. */
  get hasOtherText(): boolean {
    return this.#tap !== null && this.#tap.otherChars > 0;
  }

  /**
   * The output of a stream so far: the tokens that the provider has reported, and an estimate of
   * the text since then. `translated`: of a translated stream, the report after the last event
   * that was pushed; others may have been translated since.
   */
  outputSeen(translated: Translated | null): number {
    const tap = this.#tap!;
    const chars = this.#textWith(translated?.textSinceUnsent ?? 0);
    const usage = translated === null ? tap.reported : translated.usage;
    if (usage !== this.#counted.usage) {
      const reading = readUsage(usage);
      if (reading.kind === "usage") this.#inputSeen = reading.inputTokens;
      const isCount = reading.kind === "usage" && reading.outputTokens > placeholderTokens;
      const { tokens, chars: earlier } = this.#counted;
      this.#counted = isCount
        ? { usage, tokens: reading.outputTokens, chars }
        : { usage, tokens, chars: earlier };
    }
    return this.#counted.tokens + Math.ceil((chars - this.#counted.chars) / this.#bytesPerToken);
  }

  /** The input that the provider had reported when `outputSeen` was last called; 0 before. */
  get inputSeen(): number {
    return this.#inputSeen;
  }

  /** Whether a stream that has ended holds a complete answer. */
  get isComplete(): boolean {
    return this.#tap?.isComplete === true;
  }

  /** Meters a piece of a stream. Returns the bytes for the client, as `StreamTap.push` does. */
  push(chunk: Buffer): Buffer | readonly Buffer[] | null {
    this.#bytes += chunk.length;
    return this.#tap!.push(chunk);
  }

  /** The last piece of a stream, in Latin-1. */
  get latin1(): string {
    return this.#tap!.latin1;
  }

  /** As in `StreamTap`. */
  get passedText(): string | null {
    return this.#tap!.passedText;
  }

  /** As in `StreamTap`. */
  dropIncomplete(): void {
    this.#tap!.dropIncomplete();
  }

  /** Ends the stream. Returns held bytes that must still go out. */
  endStream(): Buffer | null {
    return this.#tap!.end();
  }

  /** Meters a piece of any other response. */
  keep(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#pieces === null) {
      this.#passing?.append(chunk);
      return;
    }
    const bytes = chunk.length + heldPieceBytes;
    if (this.#memory.takeForAnswer(bytes)) this.#keptBytes += bytes;
    else this.#isFull = true;
    this.#pieces.push(chunk);
  }

  /** Whether memory for more is lacking, so that the response must be released. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Returns the held bytes. The meter reads the rest of the response in passing. */
  release(): readonly Buffer[] {
    const pieces = this.#pieces!;
    this.#pieces = null;
    this.#memory.give(this.#keptBytes);
    this.#keptBytes = 0;
    if (this.#form === "json") {
      this.#passing = new JsonPicker(usagePicks);
      for (const piece of pieces) this.#passing.append(piece);
    }
    return pieces;
  }

  /**
   * The body in Latin-1, which keeps every byte; the search terms are ASCII. Empty if the body
   * isn't held. Call this once: the text replaces the pieces.
   */
  text(): string {
    const pieces = this.#pieces?.splice(0) ?? [];
    return (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)).toString("latin1");
  }

  /**
   * The parsed answer, or only the part that holds its usage. Undefined if the text isn't JSON, or
   * if its usage isn't metered.
   */
  read(text: string): unknown {
    if (this.#form !== "json") return undefined;
    this.#text = text;
    const { readsModel = false } = this.#request;
    if (this.#passing === null && !readsModel) {
      const usage = usageAtEnd(text);
      if (usage !== null) return usage;
    }
    const answer = this.#passing === null ? parseJson(text) : this.#passing.value();
    if (readsModel) this.#model = modelNamedIn(answer);
    this.#toolCalls = toolCallsIn(answer);
    return answer;
  }

  /** The model that the answer names; null if it names none, or if it wasn't to be read. */
  get model(): string | null {
    if (this.#request.readsModel !== true) return null;
    return this.#tap === null ? this.#model : this.#tap.model;
  }

  /**
   * The usage of a complete response. `answer`: the result of `read`, unless the response is a
   * stream.
   */
  usageOf(answer?: unknown): MeteredUsage {
    return this.errorSeen
      ? this.usageSeen(this.translation?.refused ?? null)
      : this.usageReported(answer);
  }

  /** The reported usage, whatever the answer contains; without one, an estimate. */
  usageReported(answer?: unknown): MeteredUsage {
    if (this.#tap !== null) return this.#countStream(this.#tap);
    const translation = this.translation;
    const usage = translation === null ? findUsage(answer) : translation.usage;
    const reading = readUsage(usage);
    // Counting the text takes a parse, and only an answer of 0 tokens needs it.
    const chars = this.#lacksText(reading, 1) ? this.#answerText() : 0;
    return this.#countCompleted(reading, chars, this.#bodyBytes());
  }

  /** The text of a complete answer. An answer that isn't held is too long to have none. */
  #answerText(): number {
    if (this.#request.operation === null || this.#passing !== null) return this.#bodyBytes();
    return textInAnswer(this.#text);
  }

  /**
   * The usage of a cut response: the part that was seen, marked as an estimate unless its usage was
   * read.
   */
  usageSeen(why: string | null): MeteredUsage {
    const { usage, estimated, note } =
      this.#tap === null ? this.#countUntranslated() : this.#countCut(this.#tap);
    return {
      usage,
      estimated: usage !== null && (this.#tap !== null || estimated),
      note: joinedNotes(why, note),
    };
  }

  /** Whether the output of a cut stream is known, reasoning included: reported, or shown. */
  get isOutputKnown(): boolean {
    if (this.#tap === null) return false;
    // The reasoning in a translated stream may be a summary.
    if (this.translation === null && this.#tap.hasSeenReasoning) return true;
    const reading = this.#reading(this.#tap.usage);
    return reading.kind === "usage" && reading.outputTokens > placeholderTokens;
  }

  /** The usage of a request without an answer: its prompt. */
  usageOfPrompt(why: string | null): MeteredUsage {
    const { usage, estimated, note } = countUsage(absentUsage, {
      operation: this.#request.operation,
      promptBytes: this.#request.promptBytes,
      contentChars: 0,
      request: this.#request.request,
    });
    return { usage, estimated, note: joinedNotes(why, note) };
  }

  #countStream({ usage, contentChars }: StreamTap): MeteredUsage {
    return this.#countCompleted(this.#reading(usage), contentChars);
  }

  /** The usage of a complete answer that was cut, or couldn't be translated. */
  #countUntranslated(): MeteredUsage {
    return this.#countCompleted(this.#reading(absentUsage), this.#bodyBytes());
  }

  /**
   * The usage, with the parts that it leaves out. `contentChars`: the text of the answer;
   * `textBytes`: the size of an answer without usage.
   */
  #countCompleted(
    reading: UsageReading,
    contentChars: number,
    textBytes = contentChars,
  ): MeteredUsage {
    const filled = this.#withEstimates(reading, contentChars);
    if (filled === reading) return this.#count(reading, textBytes);
    const { usage, note } = this.#count(filled, contentChars);
    const why = this.#lacksInput(reading)
      ? "its usage leaves out tokens: it has no input"
      : "its usage leaves out tokens: the answer has text";
    return { usage, estimated: usage !== null, note: joinedNotes(why, note) };
  }

  /**
   * The reading, with an estimate of the text if it reports no output, and of the prompt if it
   * reports no input. Units other than tokens stay.
   */
  #withEstimates(reading: UsageReading, contentChars: number): UsageReading {
    if (reading.kind === "usage" && this.#lacksInput(reading)) {
      const promptBytes = this.#request.promptBytes();
      const { inputTokens } = estimateTokens({ promptBytes, contentChars: 0 });
      return { ...reading, inputTokens, totalTokens: inputTokens + reading.outputTokens };
    }
    if (!this.#lacksText(reading, contentChars)) return reading;
    if (reading.isBareTotal === true && !this.#isCapped)
      return { ...reading, ...splitTotal(reading, contentChars) };
    if (reading.totalTokens > 0 || reading.reportedCost !== null)
      return usageOfCutStream(reading, contentChars);
    const { kind, note, details } = reading;
    const promptBytes = this.#request.promptBytes();
    return Object.assign({ kind, note }, estimateTokens({ promptBytes, contentChars }), {
      details,
    });
  }

  #lacksInput(reading: UsageReading): boolean {
    return reading.kind === "usage" && leavesOutInput(reading, this.#request.operation);
  }

  /**
   * Whether a usage leaves out text. A usage with input is trusted unless a hard cap has counted
   * more; one without input only if it is a total.
   */
  #lacksText(
    reading: UsageReading,
    contentChars: number,
  ): reading is UsageReading & { readonly kind: "usage" } {
    return (
      leavesOutText(reading, contentChars, this.#request.operation) &&
      (this.#isCapped || reading.totalTokens === 0 || reading.isBareTotal === true)
    );
  }

  #countCut(tap: StreamTap): MeteredUsage {
    const scale = charsPerToken / this.#bytesPerToken;
    const contentChars = scale * (this.textBytes + (this.translation?.untranslatedBytes ?? 0));
    if (this.translation !== null) {
      const reading = this.#withEstimates(readUsage(this.translation.usage), contentChars);
      return this.#count(usageOfCutTranslation(reading, contentChars), contentChars);
    }
    const reading = this.#withEstimates(tap.usage, contentChars);
    const isWhole =
      this.#lacksText(tap.usage, contentChars) && (this.#isCapped || tap.usage.totalTokens === 0);
    const charsSince = isWhole ? 0 : scale * tap.contentCharsSinceUsage;
    return this.#count(usageOfCutStream(reading, charsSince), contentChars);
  }

  /** For a translated answer, the provider's reported usage instead of the usage seen here. */
  #reading(reading: UsageReading): UsageReading {
    return this.translation === null ? reading : readUsage(this.translation.usage);
  }

  #bodyBytes(): number {
    if (this.#form === "bytes") return 0;
    return this.#bytes + (this.translation?.untranslatedBytes ?? 0);
  }

  #count(reading: UsageReading, contentChars: number): MeteredUsage {
    if (this.#tap === null && this.#form === "unmetered") return unmetered;
    const counted = this.#withToolCalls(
      countUsage(reading, {
        operation: this.#request.operation,
        promptBytes: this.#request.promptBytes,
        contentChars,
        request: this.#request.request,
      }),
    );
    // The usage of a translated stream is read before the translation, so it is complete.
    const unread =
      this.#tap === null ? this.#unreadable : this.translation === null ? this.#tap.note : null;
    return unread === null
      ? counted
      : {
          usage: counted.usage,
          estimated: counted.estimated,
          note: joinedNotes(unread, counted.note),
        };
  }

  #withToolCalls(metered: MeteredUsage): MeteredUsage {
    const { usage } = metered;
    if (usage === null) return metered;
    const callsInAnswer = this.#tap === null ? this.#toolCalls : this.#tap.toolCalls;
    if (callsInAnswer === undefined && usage.details === null) return metered;
    const toolCalls = withCountedCalls(callsInAnswer, usage.details);
    return toolCalls === undefined ? metered : { ...metered, usage: { ...usage, toolCalls } };
  }
}
