/**
 * The shared counters, on an engine: each question is one call of a script on one key, and all of
 * them travel together. What the scripts do is in `counter-scripts.ts`.
 */

import { leftSlotsMs, settleMs, slotsValidMs } from "./cluster-bounds.js";
import { readScript, syncScript } from "./counter-scripts.js";
import { type EngineConnection, EngineRefusedError, type EngineValue } from "./engine/engine.js";
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
}

/** In the order of the script's numbers. */
const statuses: readonly SyncStatus[] = ["synced", "stale", "stale_generation", "superseded"];

const unusable: SyncReply = {
  status: "unusable",
  nowMs: 0,
  window: 0,
  granted: 0,
  slotsGranted: 0,
  frozen: 0,
  frozenBefore: 0,
  settlingMs: 0,
  totals: { requests: 0, requestsBefore: 0, tokens: 0, tokensBefore: 0, slots: 0 },
};

/** The one key of a counter. */
export function counterKey(clusterName: string, { ruleId, child }: CounterName): string {
  return `sluice:${clusterName}:counter:${ruleId}\n${child}`;
}

export function createEngineLimits(
  connection: Pick<EngineConnection, "call">,
  { clusterName, hostId, start }: EngineLimitsOptions,
): SharedLimits {
  return {
    sync: (questions) =>
      inOrder(questions, async (question) => {
        const key = counterKey(clusterName, question);
        const words = [hostId, start, ...argumentsOf(question)];
        return syncReply(await connection.call(syncScript, [key], words));
      }),
    read: (counters) =>
      inOrder(counters, async (counter) => {
        const key = counterKey(clusterName, counter);
        return totalsOf(integers(await connection.call(readScript, [key], [counter.periodMs]), 7));
      }),
  };
}

/** All of them, or the first failure once all have ended: none is on its way any more. */
async function inOrder<Q, R>(
  asked: readonly Q[],
  ask: (each: Q) => Promise<R>,
): Promise<(R | typeof unusable)[]> {
  const settled = await Promise.allSettled(asked.map(ask));
  return settled.map((each) => {
    if (each.status === "fulfilled") return each.value;
    if (isUnusable(each.reason)) return unusable;
    throw each.reason;
  });
}

/** Something else lies under the counter's key, or a later version's row in it. */
function isUnusable(error: unknown): boolean {
  return error instanceof EngineRefusedError && /^(?:WRONGTYPE|UNREADABLE) /.test(error.message);
}

function argumentsOf({ units, tokens, slots, ...question }: SyncQuestion): readonly number[] {
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
  return new EngineRefusedError(`a script answered with ${JSON.stringify(value)}`);
}
