/**
 * Meters a WebSocket session by its events. Each response ends with a `response.done`, or an event
 * such as `response.completed` of the Responses API, and reports its own usage. Most other messages
 * contain sound; they are only searched for the names of the few events that matter.
 */
import {
  outputTokensAssumed,
  sessionChargesPerSecond,
  tokensPerResponseMax,
} from "../../shared/bounds.js";
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";
import { JsonPicker, type Picks } from "../body/json-picker.js";
import { promptBytes } from "../body/prompt-bytes.js";
import { charsOf, estimateTokens } from "./count-usage.js";
import { readUsage } from "./read-usage.js";
import { noUsage, sumOfUsages, type Usage } from "./usage.js";
import { boundOfUsage, sentRequestOf } from "./usage-bound.js";

export interface SessionCharge {
  /** Null if nothing was used. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** As in `MeteredUsage`. */
  readonly atMost: Usage | null;
  readonly note: string | null;
}

export interface SpentTokens {
  readonly usage: Usage;
  readonly estimated: boolean;
  /** As in `MeteredUsage`. */
  readonly atMost?: Usage | null;
}

const sessionPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["delta", "all"],
  ["usage", "all"],
  [
    "session",
    new Map<string, "all" | Picks>([
      ["type", "all"],
      ["input_audio_transcription", "all"],
      ["audio", new Map([["input", new Map([["transcription", "all"]])]])],
    ]),
  ],
  [
    "response",
    new Map([
      ["usage", "all"],
      ["status", "all"],
      ["max_output_tokens", "all"],
    ]),
  ],
]);
const sessionTexts: ReadonlySet<string> = new Set(["delta"]);
const endTypes = ["done", "completed", "incomplete", "failed"].map((end) => `response.${end}`);
const transcribed = "conversation.item.input_audio_transcription.completed";
const typesThatMatter = ["response.created", ...endTypes, "error", transcribed].map(
  (type) => `"${type}"`,
);
const sessionEvent = /^(transcription_)?session\.(?:created|updated)$/;

/** Null if the session doesn't configure one. */
function transcriberOf(session: Readonly<Record<string, unknown>>): string | null {
  const audio = isObject(session["audio"]) ? session["audio"] : {};
  const input = isObject(audio["input"]) ? audio["input"] : {};
  const transcription = input["transcription"] ?? session["input_audio_transcription"];
  const model = isObject(transcription) ? transcription["model"] : null;
  return typeof model === "string" ? model : null;
}

/** Picks the parts that `onMessage` reads from a message that is too large to keep. */
export function sessionPicker(): JsonPicker {
  return new JsonPicker(sessionPicks, sessionTexts);
}

export class SessionUsage {
  /** Whether the session only transcribes, without answers of a model. */
  #transcribes = false;
  /** The model that transcribes the user's speech in a conversation; empty without one. */
  #transcriber = "";
  /** All bytes that the client has sent. */
  bytesSent = 0;
  /** Responses that the client has requested, and that have neither begun nor been refused. */
  #requested = 0;
  /**
   * Responses that have begun and aren't done. Several may run, since one may be outside the
   * conversation.
   */
  #running = 0;
  /** The most output that one running response may produce. */
  #runningOutputMax = 0;
  /** The input and output of the last response, which are the input of the next one. */
  #contextTokens = 0;
  /** Bytes of text that the client has sent since the last response. */
  #textBytesSent = 0;
  /** The output of all responses that are done. */
  #outputTokens = 0;
  /** The usage of responses that are done and not charged yet. */
  #sum: Usage | null = null;
  /**
   * The usage of transcriptions within a conversation that isn't charged yet. It is charged
   * separately, so that a transcriber without a price doesn't leave the responses unpriced.
   */
  #transcriptions: Usage | null = null;
  #estimated = false;
  /** The remainder after responses have been charged. Not null then, because something was used. */
  #rest: Usage | null = null;
  #second = -1;
  #takenInSecond = 0;
  #note: string | null = null;
  /** Bytes of text and of transcribed speech since the last response was done. */
  #contentChars = 0;

  get responding(): boolean {
    return this.#running > 0;
  }

  /**
   * Reads a text message from the provider. `leftOutBytes`: bytes of text that aren't in `message`.
   */
  onMessage(message: Buffer, leftOutBytes = 0): void {
    const matters =
      typesThatMatter.some((type) => message.includes(type)) ||
      message.includes('session.created"') ||
      message.includes('session.updated"') ||
      (message.includes('.delta"') && !message.includes('audio.delta"'));
    if (!matters) return;
    // A message that isn't an event is the client's to handle.
    const event = parseJson(message.toString("utf8"));
    if (!isObject(event)) return;
    const { type, delta, response, session, usage } = event;
    if (typeof type !== "string") return;
    const opened = sessionEvent.exec(type);
    if (opened !== null) {
      const opening = isObject(session) ? session : {};
      this.#transcribes = opened[1] !== undefined || opening["type"] === "transcription";
      this.#transcriber = transcriberOf(opening) ?? this.#transcriber;
    } else if (type === transcribed) this.#transcribed(usage);
    else if (type === "response.created") this.#begin(isObject(response) ? response : {});
    // An error is the only answer to a refused request.
    else if (type === "error") this.#requested = Math.max(0, this.#requested - 1);
    else if (endTypes.includes(type)) this.#end(isObject(response) ? response : {});
    else if (/^response\..*\.delta$/.test(type) && typeof delta === "string")
      this.#contentChars += utf8Bytes(delta) + leftOutBytes;
  }

  /** Reads a text message from the client. */
  onSent(message: Buffer): void {
    // Sound isn't text.
    if (message.includes('"input_audio_buffer.append"')) return;
    this.#textBytesSent += promptBytes(message);
    if (!message.includes('"response.create"')) return;
    const event = parseJson(message.toString("utf8"));
    if (isObject(event) && event["type"] === "response.create") this.#requested++;
  }

  /** Charges a transcription, which another model makes outside transcription sessions. */
  #transcribed(reported: unknown): void {
    const usage = readUsage(reported);
    if (usage.kind !== "usage") return;
    if (this.#transcribes) this.#add(usage);
    else if (this.#transcriber !== "") {
      const itemUsage = { ...usage, parts: [{ model: this.#transcriber, usage }] };
      this.#transcriptions = this.#withAdded(this.#transcriptions, itemUsage);
    }
  }

  #begin({ max_output_tokens: requestedMax }: Readonly<Record<string, unknown>>): void {
    this.#requested = Math.max(0, this.#requested - 1);
    this.#running++;
    this.#runningOutputMax = Math.max(
      this.#runningOutputMax,
      isCount(requestedMax, 1) ? requestedMax : Infinity,
    );
  }

  #end({ usage: reported, status }: Readonly<Record<string, unknown>>): void {
    const usage = readUsage(reported);
    if (usage.kind === "usage") {
      this.#add(usage);
      this.#contextTokens = usage.inputTokens + usage.outputTokens;
      this.#textBytesSent = 0;
      this.#outputTokens += usage.outputTokens;
    } else this.#addEstimate(status === "failed" ? 0 : 1);
    if (usage.kind === "invalid") this.#note = `usage not charged: ${usage.reason}`;
    else if (usage.kind === "usage" && usage.note !== null) this.#note = usage.note;
    this.#running = Math.max(0, this.#running - 1);
    if (this.#running === 0) this.#runningOutputMax = 0;
    this.#contentChars = 0;
  }

  /**
   * Adds an estimate: `inputs` times the conversation as input, and the text that was seen as
   * output.
   */
  #addEstimate(inputs: number): void {
    this.#estimated = true;
    const conversation = charsOf(this.#contextTokens) + this.#textBytesSent;
    const contentChars = this.#contentChars;
    this.#add(estimateTokens({ promptBytes: inputs * conversation, contentChars }));
  }

  #add(usage: Usage): void {
    this.#sum = this.#withAdded(this.#sum, usage);
  }

  #withAdded(sum: Usage | null, usage: Usage): Usage {
    if (sum === null) return usage;
    if (
      sum.inputTokens + usage.inputTokens <= tokensPerResponseMax &&
      sum.outputTokens + usage.outputTokens <= tokensPerResponseMax
    )
      return sumOfUsages(sum, usage);
    this.#note = `tokens beyond ${tokensPerResponseMax} at once are not charged`;
    return sum;
  }

  /**
   * The charge of the responses that are done since the last call, or of the transcriptions. Null
   * if there are none, or if they are too frequent, so that those of a second are charged together
   * later.
   */
  takeDone(nowMonoMs: number): SpentTokens | null {
    if (this.#sum === null && this.#transcriptions === null) return null;
    const second = Math.floor(nowMonoMs / 1000);
    if (second !== this.#second) [this.#second, this.#takenInSecond] = [second, 0];
    if (this.#takenInSecond >= sessionChargesPerSecond) return null;
    this.#takenInSecond++;
    const unreported =
      this.#sum === null
        ? { usage: this.#transcriptions!, estimated: false }
        : { usage: this.#sum, estimated: this.#estimated };
    if (this.#sum === null) this.#transcriptions = null;
    else [this.#sum, this.#estimated] = [null, false];
    this.#rest = { ...noUsage, reportedCost: unreported.usage.reportedCost === null ? null : 0 };
    return unreported;
  }

  /**
   * The remaining charge. Call this once, after the end of the session. A response that is
   * unfinished, or that was requested but hasn't begun, is charged for the text that was sent and
   * received. `unreadMessages`: how many messages were too large to read. `modelOutputMax`: as in
   * `SentRequest`.
   */
  charge(unreadMessages = 0, modelOutputMax: number | null = null): SessionCharge {
    if (this.#transcriptions !== null) this.#add(this.#transcriptions);
    if (unreadMessages > 0)
      this.#note = `too large to be read: ${unreadMessages} messages of the session, which are no JSON`;
    const open = this.#requested + this.#running;
    if (open === 0) return this.#charged(null);
    const { inputTokens: input, outputTokens: output } = this.#sum ?? noUsage;
    const outputMax = modelOutputMax ?? outputTokensAssumed;
    const running =
      this.#running === 0 ? 0 : this.#running * Math.min(outputMax, this.#runningOutputMax);
    this.#addEstimate(open);
    const sent = sentRequestOf({
      operation: null,
      request: { body: null },
      promptBytes: () => input + open * (this.bytesSent + this.#outputTokens),
      modelOutputMax: () => output + this.#requested * outputMax + running,
    });
    return this.#charged(boundOfUsage(this.#sum ?? noUsage, sent));
  }

  #charged(atMost: Usage | null): SessionCharge {
    const usage = this.#sum ?? this.#rest;
    return { usage, estimated: this.#estimated, atMost, note: this.#note };
  }
}
