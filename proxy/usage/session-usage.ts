/**
 * Meters a realtime session by its events: its responses, each of which ends in a `response.done`
 * with its own usage. Other messages, most of them sound, are only searched for the
 * names of the few events that matter.
 */
import { sessionChargesPerSecond, tokensPerResponseMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";
import { addedDetails } from "../../shared/usage/usage-details.js";
import { JsonPicker, type Picks } from "../body/json-picker.js";
import { estimateTokens } from "./estimate-tokens.js";
import { readUsage, type Usage } from "./read-usage.js";

export interface SessionCharge {
  /** Null: nothing was used. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  readonly note: string | null;
}

export interface SpentTokens {
  readonly usage: Usage;
  readonly estimated: boolean;
  /** As in `MeteredUsage`. */
  readonly atMost?: Usage | null;
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reportedCost: null,
  details: null,
};

const sessionPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["delta", "all"],
  ["response", new Map([["usage", "all"]])],
]);
const sessionTexts: ReadonlySet<string> = new Set(["delta"]);

/** Reads from a message that is too large to be kept what `onMessage` reads. */
export function sessionPicker(): JsonPicker {
  return new JsonPicker(sessionPicks, sessionTexts);
}

export class SessionUsage {
  /**
   * Responses that have begun and aren't done; several may run, since one may be outside the
   * conversation.
   */
  #running = 0;
  /** Of the responses that are done and not charged yet. */
  #sum: Usage | null = null;
  #estimated = false;
  /** What is left once responses have been charged: not null, for something was used. */
  #rest: Usage | null = null;
  #second = -1;
  #takenInSecond = 0;
  #note: string | null = null;
  /** Bytes of text and of transcribed speech since the last response was done. */
  #contentChars = 0;

  get responding(): boolean {
    return this.#running > 0;
  }

  /** A text message of the provider's; `leftOutBytes`: of its text, which isn't in it. */
  onMessage(message: Buffer, leftOutBytes = 0): void {
    const matters =
      message.includes('"response.created"') ||
      message.includes('"response.done"') ||
      (message.includes('.delta"') && !message.includes('audio.delta"'));
    if (!matters) return;
    // What isn't an event is the client's to judge.
    const event = parseJson(message.toString("utf8"));
    if (!isObject(event)) return;
    const { type, delta, response } = event;
    if (type === "response.created") this.#running++;
    else if (type === "response.done")
      this.#end(isObject(response) ? response["usage"] : undefined);
    else if (
      typeof type === "string" &&
      /^response\..*\.delta$/.test(type) &&
      typeof delta === "string"
    )
      this.#contentChars += utf8Bytes(delta) + leftOutBytes;
  }

  #end(reported: unknown): void {
    const usage = readUsage(reported);
    if (usage.kind === "usage") this.#add(usage);
    else this.#addEstimate();
    if (usage.kind === "invalid") this.#note = `usage not charged: ${usage.reason}`;
    else if (usage.kind === "usage" && usage.note !== null) this.#note = usage.note;
    this.#running = Math.max(0, this.#running - 1);
    this.#contentChars = 0;
  }

  /** Of the answer alone: the size of its input isn't known. */
  #addEstimate(): void {
    this.#estimated = true;
    this.#add(estimateTokens({ promptBytes: 0, contentChars: this.#contentChars }));
  }

  #add(usage: Usage): void {
    const sum = this.#sum;
    if (sum === null) this.#sum = usage;
    else if (
      sum.inputTokens + usage.inputTokens <= tokensPerResponseMax &&
      sum.outputTokens + usage.outputTokens <= tokensPerResponseMax
    )
      this.#sum = added(sum, usage);
    else this.#note = `tokens beyond ${tokensPerResponseMax} at once are not charged`;
  }

  /**
   * What the responses that have been done since the last call are charged; null: nothing, or they
   * come so fast that those of a second are charged together later.
   */
  takeDone(nowMonoMs: number): SpentTokens | null {
    if (this.#sum === null) return null;
    const second = Math.floor(nowMonoMs / 1000);
    if (second !== this.#second) [this.#second, this.#takenInSecond] = [second, 0];
    if (this.#takenInSecond >= sessionChargesPerSecond) return null;
    this.#takenInSecond++;
    const taken = { usage: this.#sum, estimated: this.#estimated };
    this.#sum = null;
    this.#estimated = false;
    this.#rest = { ...noUsage, reportedCost: taken.usage.reportedCost === null ? null : 0 };
    return taken;
  }

  /**
   * What is left to charge; called once, after the end of the session. An unfinished response is
   * charged with what was seen of it. `unreadMessages`: how many messages were too large to be
   * read.
   */
  charge(unreadMessages = 0): SessionCharge {
    if (this.responding) this.#addEstimate();
    if (unreadMessages > 0)
      this.#note = `too large to be read: ${unreadMessages} messages of the session, which are no JSON`;
    return { usage: this.#sum ?? this.#rest, estimated: this.#estimated, note: this.#note };
  }
}

export function added(a: Usage, b: Usage): Usage {
  const reported =
    a.reportedCost === null || b.reportedCost === null ? null : a.reportedCost + b.reportedCost;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    reportedCost: reported !== null && isPicoUsd(reported) ? reported : null,
    details: addedDetails(a.details, b.details),
  };
}
