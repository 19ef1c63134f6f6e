/**
 * The shared counters, on an engine: each question is one call of a script on one key, and all of
 * them travel together. What the scripts do is in `counter-scripts.ts`.
 */

import { leftSlotsMs, settleMs, slotsValidMs } from "./cluster-bounds.js";
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
  /** How often this host's daemon has started. */
  readonly start: number;
  /** The engine refuses one of the counters: a sentence for the log. */
  onRefused(reason: string): void;
}

/** In the order of the script's numbers. */
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

/** The one key of a counter. */
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
      inOrder(
        questions,
        async (question) => {
          const key = counterKey(clusterName, question);
          const words = [hostId, `${start} ${numbersOf(question).join(" ")}`];
          return syncReply(await connection.call(syncScript, [key], words));
        },
        ports,
      ),
    read: (counters) =>
      inOrder(
        counters,
        async (counter) => {
          const key = counterKey(clusterName, counter);
          const words = [counter.periodMs, counter.generation];
          const told = await connection.call(readScript, [key], words);
          return totalsOf(integers(told, 7));
        },
        ports,
      ),
  };
}

/**
 * Rejects when the engine is away. One that isn't answered while the engine is there has its own
 * status: its part of a Cluster is away. So has one for which the key holds, or the engine answers,
 * what isn't understood.
 */
async function inOrder<Q, R>(
  asked: readonly Q[],
  ask: (each: Q) => Promise<R>,
  { isReached, onRefused }: { isReached(): boolean; onRefused(reason: string): void },
): Promise<(R | SyncReply)[]> {
  // Until all have ended: none is on its way any more.
  const settled = await Promise.allSettled(asked.map(ask));
  return settled.map((each) => {
    if (each.status === "fulfilled") return each.value;
    const error: unknown = each.reason;
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

function syncReply(value: EngineValue): SyncReply {
  const numbers = integers(value, 13);
  const status = statuses[numbers[0]!];
  if (status === undefined) throw unexpected(value);
  const [granted, slotsGranted, frozen, frozenBefore, settlingMs] = numbers.slice(3);
  return {
    status,
    granted: granted!,
    slotsGranted: slotsGranted!,
    frozen: frozen!,
    frozenBefore: frozenBefore!,
    settlingMs: settlingMs!,
    ...totalsOf([...numbers.slice(1, 3), ...numbers.slice(8)]),
  };
}

function totalsOf(numbers: readonly number[]): CounterTotals {
  const [nowMs, window, requests, requestsBefore, tokens, tokensBefore, slots] = numbers;
  return {
    nowMs: nowMs!,
    window: window!,
    totals: {
      requests: requests!,
      requestsBefore: requestsBefore!,
      tokens: tokens!,
      tokensBefore: tokensBefore!,
      slots: slots!,
    },
  };
}

function integers(value: EngineValue, count: number): readonly number[] {
  if (!Array.isArray(value) || value.length !== count || !value.every(Number.isSafeInteger))
    throw unexpected(value);
  return value;
}

function unexpected(value: EngineValue): EngineRefusedError {
  const text = JSON.stringify(value).slice(0, 200);
  return new EngineRefusedError(`an answer about a counter that isn't understood: ${text}`);
}
