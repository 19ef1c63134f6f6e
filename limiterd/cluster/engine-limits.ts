/**
 * Implements the shared counters with the engine: each question is one script call on one key. The
 * calls of one turn of the event loop are sent together. The scripts are in `counter-scripts.ts`.
 */
import { isCount } from "../../shared/checked.js";
import { isMoment } from "../../shared/time.js";
import { leftSlotsMs, settleMs, slotsValidMs } from "../bounds.js";
import { readScript, syncScript } from "./counter-scripts.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
  type EngineValue,
} from "./engine/engine.js";
import type {
  CounterName,
  CounterTotals,
  SharedLimits,
  SyncQuestion,
  SyncReply,
  SyncStatus,
} from "./shared-limits.js";

interface EngineLimitsOptions {
  readonly clusterName: string;
  readonly hostId: string;
  /** Grows with each start of this host's daemon. */
  readonly start: number;
  /** Called when the engine refuses a counter; `reason` is a sentence for the log. */
  onRefused(reason: string): void;
}

/** The status numbers of the script are indexes in this list. */
const statuses: readonly SyncStatus[] = ["synced", "stale", "stale_generation", "superseded"];

const nothing: Omit<SyncReply, "status"> = {
  nowMs: 0,
  window: 0,
  granted: 0,
  slotsGranted: 0,
  frozen: 0,
  frozenBefore: 0,
  settlingMs: 0,
  totals: { requests: 0, requestsBefore: 0, tokens: 0, tokensBefore: 0, slots: 0 },
};
const unusable: SyncReply = { ...nothing, status: "unusable" };
const away: SyncReply = { ...nothing, status: "away" };

/** The engine's key of a counter. */
export function counterKey(clusterName: string, { ruleId, child }: CounterName): string {
  return `sluice:${clusterName}:counter:${ruleId}\n${child}`;
}

export function createEngineLimits(
  connection: Pick<EngineConnection, "call" | "state">,
  { clusterName, hostId, start, onRefused }: EngineLimitsOptions,
): SharedLimits {
  const ports = { isReached: () => connection.state.kind === "connected", onRefused };
  return {
    sync: (questions) =>
      askAll(
        questions,
        async (question) => {
          const key = counterKey(clusterName, question);
          const args = [hostId, `${start} ${numbersOf(question).join(" ")}`];
          return syncReply(await connection.call(syncScript, [key], args), question);
        },
        ports,
      ),
    read: (counters) =>
      askAll(
        counters,
        async (counter) => {
          const key = counterKey(clusterName, counter);
          const args = [counter.periodMs, counter.generation, hostId];
          const answered = await connection.call(readScript, [key], args);
          return totalsOf(counts(answered, 7), counter.periodMs, answered);
        },
        ports,
      ),
  };
}

/**
 * The replies in the order of the questions. Rejects if the engine is away. If one server of a
 * Cluster is away, its questions get the status `away`. A question whose key or answer has an
 * unexpected form gets `unusable`.
 */
async function askAll<Q, R>(
  questions: readonly Q[],
  ask: (each: Q) => Promise<R>,
  { isReached, onRefused }: { isReached(): boolean; onRefused(reason: string): void },
): Promise<(R | SyncReply)[]> {
  // Waits for all questions, so that none is pending afterwards.
  const settled = await Promise.allSettled(questions.map(ask));
  return settled.map((result) => {
    if (result.status === "fulfilled") return result.value;
    const error: unknown = result.reason;
    if (error instanceof EngineRefusedError) {
      onRefused(error.message);
      return unusable;
    }
    if (!isReached() || !(error instanceof EngineAwayError)) throw error;
    return away;
  });
}

function numbersOf({ units, tokens, slots, ...question }: SyncQuestion): readonly number[] {
  return [
    question.seq,
    question.generation,
    question.syncedMs,
    question.periodMs,
    question.capRequests ?? -1,
    question.capSlots ?? -1,
    units.window,
    units.spent,
    units.spentBefore,
    units.held,
    units.frozen,
    units.frozenBefore,
    units.wanted,
    tokens.window,
    tokens.current,
    tokens.previous,
    slots.inUse,
    slots.wanted,
    slotsValidMs,
    settleMs,
    leftSlotsMs,
  ];
}

function syncReply(value: EngineValue, question: SyncQuestion): SyncReply {
  const numbers = counts(value, 13);
  const status = statuses[numbers[0]!];
  const [granted, slotsGranted, frozen, frozenBefore, settlingMs] = numbers.slice(3) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const exceedsQuestion =
    granted > question.units.wanted ||
    slotsGranted > question.slots.wanted ||
    settlingMs > settleMs;
  if (status === undefined || exceedsQuestion) throw unexpectedAnswer(value);
  const answered = [...numbers.slice(1, 3), ...numbers.slice(8)];
  return {
    status,
    granted,
    slotsGranted,
    frozen,
    frozenBefore,
    settlingMs,
    ...totalsOf(answered, question.periodMs, value),
  };
}

function totalsOf(numbers: readonly number[], periodMs: number, value: EngineValue): CounterTotals {
  const [nowMs, window, requests, requestsBefore, tokens, tokensBefore, slots] = numbers;
  const isWindow = window === (periodMs === 0 ? 0 : Math.floor(nowMs! / periodMs));
  if (!isMoment(nowMs) || !isWindow) throw unexpectedAnswer(value);
  return {
    nowMs,
    window,
    totals: {
      requests: requests!,
      requestsBefore: requestsBefore!,
      tokens: tokens!,
      tokensBefore: tokensBefore!,
      slots: slots!,
    },
  };
}

function counts(value: EngineValue, length: number): readonly number[] {
  const isOne = (each: unknown): each is number => isCount(each);
  if (!Array.isArray(value) || value.length !== length || !value.every(isOne))
    throw unexpectedAnswer(value);
  return value;
}

function unexpectedAnswer(value: EngineValue): EngineRefusedError {
  const text = JSON.stringify(value).slice(0, 200);
  return new EngineRefusedError(`an answer about a counter that isn't understood: ${text}`);
}
