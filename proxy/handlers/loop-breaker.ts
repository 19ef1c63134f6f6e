/**
 * Detects agents that repeat themselves, or work without end (docs/loops.md): by the end of the
 * conversation in a request (`repeated-turns.ts`), and by requests that a client sends again
 * although they were answered. Each proxy remembers the answered requests for itself; nothing else
 * is remembered. The rule of the path decides; `model-request.ts` asks the daemon for the rule, and
 * acts on it.
 */
import { jsonDepthMax } from "../../shared/bounds.js";
import { type LoopRule, type LoopTimes, loopTimesMax } from "../../shared/domain/loop-rule.js";
import { type Failure, failure } from "../../shared/error-code.js";
import type { Caller } from "../auth/caller.js";
import { nestedDeeperThan } from "../body/json-value.js";
import type { JsonOperation } from "../body/model-body.js";
import {
  type ConversationEnd,
  conversationEnd,
  type LongTexts,
  type RepeatedTurns,
} from "../body/repeated-turns.js";
import { repeatedRequestMs, repeatedRequestsMax } from "../bounds.js";

/** An agent's loop. */
export interface Loop {
  /**
   * `turns`: the last turns of the conversation repeat. `request`: the client sends the request
   * again. `growth`: too many turns follow the user's last message.
   */
  readonly kind: "turns" | "request" | "growth";
  /** How often the turns or the request were sent; for `growth`, the number of turns. */
  readonly times: number;
  /** How many turns form the repeated part; 0 for the other kinds. */
  readonly turns: number;
  readonly tools: readonly string[];
}

/** The end of the conversation in a request. */
export interface AgentTurn extends Omit<ConversationEnd, "resent"> {
  /** Equal for equal requests; null unless the request ends with tools' results. */
  readonly digest: string | null;
}

/** A turn of an agent whose caller is known. */
export interface WatchedTurn {
  readonly turn: AgentTurn;
  /** The key under which its request is remembered; null if it isn't. */
  readonly key: string | null;
  /** How often the request was sent, including this time; 0 if it isn't remembered. */
  readonly sent: number;
}

interface Sender {
  readonly caller: Pick<Caller, "userPath" | "credential">;
  readonly session: string;
  readonly model: string;
}

interface JudgedTurn {
  readonly loop: Loop;
  readonly isRefused: boolean;
}

interface SentTurn {
  times: number;
  /** When it was last answered. */
  endedMonoMs: number;
}

/** The length of the beginning and of the end of a long text that distinguish requests. */
const longTextBytes = 16 * 1024;
const noBytes = Buffer.alloc(0);

export class LoopBreaker {
  readonly #digest: (head: string, body: Buffer) => string;
  readonly #timesOfRules: () => LoopTimes | null;
  /** The requests that were answered, by their keys, the least recent first. */
  readonly #answered = new Map<string, SentTurn>();

  /**
   * `times`: the repetitions after which the first and the last rule act; null if there are no
   * rules.
   */
  constructor(digest: (head: string, body: Buffer) => string, times: () => LoopTimes | null) {
    this.#digest = digest;
    this.#timesOfRules = times;
  }

  /**
   * Null without a conversation, and if there are no rules. `fields`: as `parseModelBody` returns
   * them, in the same turn of the event loop.
   */
  read(
    operation: JsonOperation,
    fields: Readonly<Record<string, unknown>>,
    texts: LongTexts,
  ): AgentTurn | null {
    const times = this.#timesOfRules();
    if (times === null) return null;
    const atMost = { times: times.max, turns: times.turns?.max ?? 0 };
    const end = conversationEnd(operation, fields, texts, atMost);
    if (end === null) return null;
    const { resent, ...turn } = end;
    if (resent === null || times.max === 0 || nestedDeeperThan(resent, jsonDepthMax))
      return { ...turn, digest: null };
    const longTexts: Buffer[] = [];
    const text = JSON.stringify(resent, (_, value: unknown) => {
      const bytes = typeof value === "string" ? texts.bytesOf(value) : null;
      if (bytes === null) return value;
      longTexts.push(bytes.subarray(0, longTextBytes), bytes.subarray(-longTextBytes));
      return bytes.length;
    });
    const head = `${operation} ${text}`;
    return { ...turn, digest: this.#digest(head, Buffer.concat(longTexts)) };
  }

  /** `sender`: null for a retry. */
  watch(turn: AgentTurn, sender: Sender | null, nowMonoMs: number): WatchedTurn {
    if (turn.digest === null || sender === null) return { turn, key: null, sent: 0 };
    const { caller, session, model } = sender;
    if (!turn.hasIds && session === "") return { turn, key: null, sent: 0 };
    const keyParts = [caller.userPath, caller.credential, session, model, turn.digest];
    const key = this.#digest(JSON.stringify(keyParts), noBytes);
    const earlier = this.#answered.get(key);
    const isKnown = earlier !== undefined && nowMonoMs - earlier.endedMonoMs < repeatedRequestMs;
    return { turn, key, sent: 1 + (isKnown ? earlier.times : 0) };
  }

  /** Whether the turn could be a loop, depending on the rule of the caller's path. */
  suspects({ turn: { repeated, repeatedCalls, turns }, sent }: WatchedTurn): boolean {
    const { min = 0, turns: turnsMin } = this.#timesOfRules() ?? {};
    const { times } = repeatedCalls ?? repeated ?? { times: 0 };
    if (min > 0 && Math.max(times, sent) >= min) return true;
    return turnsMin !== undefined && turns >= turnsMin.min;
  }

  /** The loop, if the rule warns of it or refuses it; otherwise null. */
  judge({ turn, sent }: WatchedTurn, rule: LoopRule): JudgedTurn | null {
    const loop = loopOf(rule.compare_results ? turn.repeated : turn.repeatedCalls, sent);
    const growth: Loop = { kind: "growth", times: turn.turns, turns: 0, tools: [] };
    const { warn_after_turns: warnAfter, refuse_after_turns: refuseAfter } = rule;
    if (isReached(loop.times, rule.refuse_after)) return { loop, isRefused: true };
    if (isReached(turn.turns, refuseAfter)) return { loop: growth, isRefused: true };
    if (isReached(loop.times, rule.warn_after)) return { loop, isRefused: false };
    return isReached(turn.turns, warnAfter) ? { loop: growth, isRefused: false } : null;
  }

  /**
   * Remembers that the request was answered completely. A request that ran at the same time doesn't
   * count twice.
   */
  noteAnswer({ key }: WatchedTurn, startedMonoMs: number, nowMonoMs: number): void {
    if (key === null) return;
    const earlier = this.#answered.get(key);
    this.#answered.delete(key);
    const isKnown = earlier !== undefined && nowMonoMs - earlier.endedMonoMs < repeatedRequestMs;
    const times = isKnown ? earlier.times + (startedMonoMs >= earlier.endedMonoMs ? 1 : 0) : 1;
    this.#answered.set(key, { times: Math.min(times, loopTimesMax), endedMonoMs: nowMonoMs });
    if (this.#answered.size <= repeatedRequestsMax) return;
    for (const oldest of this.#answered.keys()) {
      this.#answered.delete(oldest);
      return;
    }
  }
}

/** Whether `times` reaches `after`; 0 is never reached. */
function isReached(times: number, after: number): boolean {
  return after > 0 && times >= after;
}

function loopOf(repeated: RepeatedTurns | null, sent: number): Loop {
  return repeated !== null && repeated.times >= sent
    ? { kind: "turns", ...repeated }
    : { kind: "request", times: sent, turns: 0, tools: [] };
}

/** The value of X-Sluice-Loop. */
export function loopHeader({ kind, times, turns }: Loop): string {
  switch (kind) {
    case "turns":
      return `turns; times=${times}; length=${turns}`;
    case "request":
      return `request; times=${times}`;
    case "growth":
      return `growth; turns=${times}`;
  }
}

/** A 400: clients retry a 429, whatever its headers say. */
export function loopFailure(loop: Loop): Failure {
  return failure(
    "loop_detected",
    `${loopText(loop)}. To continue, add a message to the conversation or start a new one`,
  );
}

const toolsShown = 4;
const toolCharsShown = 64;

function loopText({ kind, times, turns, tools }: Loop): string {
  if (kind === "growth")
    return `the agent has worked for ${times} turns since the last message of the user`;
  const repeats = "the agent repeats itself:";
  if (kind === "request") return `${repeats} it has sent this request ${times} times`;
  const names = tools
    .slice(0, toolsShown)
    .map((name) => Buffer.from(name.slice(0, toolCharsShown), "latin1").toString("utf8"));
  const called = names.length === 0 ? "" : ` (${names.join(", ")})`;
  return turns === 1
    ? `${repeats} its last ${times} turns are the same${called}`
    : `${repeats} it has gone through the same ${turns} turns ${times} times${called}`;
}
