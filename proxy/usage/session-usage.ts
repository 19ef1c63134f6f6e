/**
 * What the events of a realtime session say of its usage: a sum over its responses, each of which
 * ends in a `response.done` that tells its own. What else passes, sound above all, is looked at for
 * no more than the names of the few events that matter.
 */
import { isObject } from "../../shared/assert.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import { utf8Bytes } from "../../shared/utf8-bytes.js";
import { estimateTokens } from "./estimate-tokens.js";
import { readUsage, type Usage } from "./read-usage.js";

interface SessionCharge {
  /** Null: nothing was used. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  readonly note: string | null;
}

export class SessionUsage {
  /**
   * Responses that have begun and aren't done; one that stands beside the conversation may run
   * along.
   */
  #running = 0;
  #sum: Usage | null = null;
  #estimated = false;
  #note: string | null = null;
  /** Since the last one was done: the bytes of text, and of what was said. */
  #contentChars = 0;

  get responding(): boolean {
    return this.#running > 0;
  }

  /** A text message of the provider's; `leftOut`: bytes of long strings that stand empty in it. */
  onMessage(message: Buffer, leftOut = 0): void {
    const matters =
      message.includes('"response.created"') ||
      message.includes('"response.done"') ||
      (message.includes('.delta"') && !message.includes('audio.delta"'));
    if (!matters) return;
    let event: unknown;
    try {
      event = JSON.parse(message.toString("utf8"));
    } catch {
      // Not an event: the client's to judge.
      return;
    }
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
      this.#contentChars += utf8Bytes(delta) + leftOut;
  }

  #end(told: unknown): void {
    const usage = readUsage(
      isObject(told)
        ? {
            ...told,
            input_tokens_details: told["input_token_details"] ?? told["input_tokens_details"],
          }
        : told,
    );
    if (usage.kind === "usage") this.#add(usage);
    else this.#addEstimate();
    if (usage.kind === "invalid") this.#note = `usage not charged: ${usage.reason}`;
    else if (usage.kind === "usage" && usage.note !== null) this.#note = usage.note;
    this.#running = Math.max(0, this.#running - 1);
    this.#contentChars = 0;
  }

  /** Only what was seen of the answer: what it was asked isn't known. */
  #addEstimate(): void {
    this.#estimated = true;
    this.#add(estimateTokens({ promptBytes: 0, contentChars: this.#contentChars }));
  }

  #add(usage: Usage): void {
    const sum = this.#sum;
    if (sum === null) this.#sum = usage;
    else if (sum.totalTokens + usage.totalTokens <= tokensPerResponseMax)
      this.#sum = added(sum, usage);
    else this.#note = `tokens beyond ${tokensPerResponseMax} in one session are not charged`;
  }

  /**
   * When the session has ended; asked once. A response in the middle is charged with what was seen
   * of it. `unread`: messages too large to be heard.
   */
  charge(unread = 0): SessionCharge {
    if (this.responding) this.#addEstimate();
    if (unread > 0)
      this.#note = `too large to be read: ${unread} messages of the session, long strings left out`;
    return { usage: this.#sum, estimated: this.#estimated, note: this.#note };
  }
}

function added(a: Usage, b: Usage): Usage {
  const reported =
    a.reportedCost === null || b.reportedCost === null ? null : a.reportedCost + b.reportedCost;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteInputTokens: a.cacheWriteInputTokens + b.cacheWriteInputTokens,
    reportedCost: reported !== null && isPicoUsd(reported) ? reported : null,
  };
}
