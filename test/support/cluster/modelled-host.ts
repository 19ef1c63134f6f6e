/**
 * A host as simple as one can be: it asks for units and uses them, and keeps what an honest host
 * must of one counter. Time is the engine's.
 */
import { rollHalves } from "../../../limiterd/cluster/halves.js";
import type { SyncQuestion, SyncReply } from "../../../limiterd/cluster/shared-limits.js";

export interface HostClock {
  nowMs: number;
}

export interface HostRule {
  readonly periodMs: number;
  readonly cap: number;
}

export interface ModelledHost {
  readonly hostId: string;
  start: number;
  /** Uses a unit it holds, if it holds one. */
  use(): boolean;
  question(wanted: number): SyncQuestion;
  hear(reply: SyncReply): void;
  giveBack(): void;
  /** What it holds is forgotten; what it used is on its disk. */
  restart(): void;
}

export function modelHost(
  hostId: string,
  { periodMs, cap }: HostRule,
  clock: HostClock,
): ModelledHost {
  const usedMs: number[] = [];
  const windowNow = (): number => Math.floor(clock.nowMs / periodMs);
  const usedIn = (window: number): number =>
    usedMs.filter((ms) => Math.floor(ms / periodMs) === window).length;
  const fresh = () => ({
    window: windowNow(),
    seq: 0,
    syncedMs: 0,
    spent: 0,
    spentBefore: 0,
    held: 0,
    frozen: usedIn(windowNow()),
    frozenBefore: usedIn(windowNow() - 1),
  });
  let state = fresh();
  return {
    hostId,
    start: 1,
    use() {
      if (state.held === 0 || windowNow() !== state.window) return false;
      state.held--;
      state.spent++;
      usedMs.push(clock.nowMs);
      return true;
    },
    question(wanted) {
      state.seq++;
      const { seq, syncedMs, window, spent, spentBefore, held, frozen, frozenBefore } = state;
      const units = { window, spent, spentBefore, held, frozen, frozenBefore, wanted };
      return {
        ruleId: "rule",
        child: "",
        generation: 0,
        seq,
        syncedMs,
        periodMs,
        capRequests: cap,
        capSlots: null,
        units,
        tokens: { window: windowNow(), current: 0, previous: 0 },
        slots: { inUse: 0, wanted: 0 },
      };
    },
    hear(reply) {
      const { window, spent, spentBefore, held } = state;
      const rolled = rollHalves({ window, current: spent, previous: spentBefore }, reply.window);
      state = {
        ...state,
        window: reply.window,
        syncedMs: reply.nowMs,
        spent: rolled.current,
        spentBefore: rolled.previous,
        held: (window === reply.window ? held : 0) + reply.granted,
        frozen: reply.frozen,
        frozenBefore: reply.frozenBefore,
      };
    },
    giveBack() {
      state.held = 0;
    },
    restart() {
      this.start++;
      state = fresh();
    },
  };
}
