/**
 * The port to the counters that all hosts share. Every question reports all that this host counts,
 * in absolute values. So a question may be repeated, a reply may get lost, and the engine may lose
 * its data: no side needs to remember earlier questions. Not here: how the engine answers
 * (`counter-scripts.ts`), and how the host uses an answer.
 */

import type { Halves } from "./halves.js";

/** A counter: a rule's own, with `child` empty, or that of one child of a template. */
export interface CounterName {
  readonly ruleId: string;
  readonly child: string;
}

export interface SyncQuestion extends CounterName {
  /**
   * The rule's generation, which each reset raises. A higher one drops everything counted under a
   * lower one.
   */
  readonly generation: number;
  /** Grows with each question since the daemon's start; from 1. */
  readonly seq: number;
  /**
   * The engine's time in the last `synced` reply about this counter, under this generation and
   * since the daemon's start; 0 before the first. If the engine's data is older than that reply,
   * the engine has lost data.
   */
  readonly syncedMs: number;
  /** 0 for a rule of kind `concurrent`, whose only window is 0 and never ends. */
  readonly periodMs: number;
  /** Null: no cap, so the engine grants everything that is wanted. */
  readonly capRequests: number | null;
  readonly capSlots: number | null;
  readonly units: UnitReport;
  /** Charged tokens; `window` follows this host's clock. */
  readonly tokens: Halves;
  readonly slots: {
    /** Slots of this host's requests in flight, and granted slots that it keeps. */
    readonly inUse: number;
    readonly wanted: number;
  };
}

/**
 * Units are granted requests. All fields but `wanted` are counts of `window` and the one before it.
 */
interface UnitReport {
  /** The window of the last reply; before the first reply, of the host's own clock. */
  readonly window: number;
  /** Requests counted in `window` since the daemon's start, with or without a granted unit. */
  readonly spent: number;
  readonly spentBefore: number;
  /** Units granted in `window` that are neither used nor returned; they expire with `window`. */
  readonly held: number;
  /**
   * The counts of earlier runs of the daemon, from the last reply or, before the first reply, from
   * the store. The engine keeps the larger of these and its own.
   */
  readonly frozen: number;
  readonly frozenBefore: number;
  readonly wanted: number;
}

/**
 * - `synced`: applied. Nothing is granted while `settlingMs` is above 0.
 * - `stale`: the engine has already answered a later question of this host. Nothing has changed.
 * - `stale_generation`: the rule was reset, and this host doesn't know it yet. Nothing has changed.
 * - `superseded`: a daemon with this host's id that started later has asked. Nothing has changed.
 * - `unusable`: the counter's key in the engine has other content. Nothing has changed.
 * - `away`: the server of this counter doesn't answer, while others of the Cluster do. It may have
 *   applied the question.
 *
 * `nowMs`, `window` and `totals` are valid for all but the last two, the other fields only for
 * `synced`.
 */
export type SyncStatus =
  | "synced"
  | "stale"
  | "stale_generation"
  | "superseded"
  | "unusable"
  | "away";

export interface SyncReply extends CounterTotals {
  readonly status: SyncStatus;
  /** Units granted to this host, in addition to `held`, until `window` ends. */
  readonly granted: number;
  readonly slotsGranted: number;
  readonly frozen: number;
  readonly frozenBefore: number;
  /** How long the engine still grants nothing of this counter, because it has lost data. */
  readonly settlingMs: number;
}

/** The counts of all hosts, by the engine's clock, after the grant. */
export interface CounterTotals {
  readonly nowMs: number;
  /**
   * The engine's window: floor(nowMs ÷ periodMs). If it is below the question's window (the
   * engine's clock was set back), all stated counts count in it.
   */
  readonly window: number;
  readonly totals: {
    readonly requests: number;
    readonly requestsBefore: number;
    readonly tokens: number;
    readonly tokensBefore: number;
    readonly slots: number;
  };
}

export interface ReadCounter extends CounterName {
  readonly periodMs: number;
  /** The rule's generation: requests and tokens counted under a lower one don't count. */
  readonly generation: number;
}

/**
 * Both methods reject with `EngineAwayError` if the engine answers nothing within about a second;
 * it may have received the questions. No answer arrives later.
 */
export interface SharedLimits {
  /**
   * One reply to each question, in order. The questions of one call must be about different
   * counters.
   */
  sync(questions: readonly SyncQuestion[]): Promise<readonly SyncReply[]>;
  /**
   * Reads counts without reporting any. Tokens and slots are only those of the other hosts. `nowMs`
   * is 0 for a counter about which the engine hasn't answered.
   */
  read(counters: readonly ReadCounter[]): Promise<readonly CounterTotals[]>;
}
