/**
 * The port to the counters that all hosts share: what a host asks of them, and what it is told.
 * Every question restates all that this host counts, in absolute values, so that a repeated
 * question, a lost reply and an engine that lost its data need no memory of what was sent. How the
 * engine answers is in `counter-scripts.ts`; what the host makes of an answer isn't here.
 */

import type { Halves } from "./halves.js";

/** A counter: a rule's own, with `child` empty, or that of one child of a template. */
export interface CounterName {
  readonly ruleId: string;
  readonly child: string;
}

export interface SyncQuestion extends CounterName {
  /** Of the rule, raised by each reset: a higher one forgets all that was counted below it. */
  readonly generation: number;
  /** Higher than in each question before it since the daemon's start; 1 or more. */
  readonly seq: number;
  /**
   * The engine's time in the last reply `synced` about this counter, under this generation and
   * since the daemon's start; 0 before the first. An engine that doesn't know of that reply has
   * lost data.
   */
  readonly syncedMs: number;
  /** 0 for a rule of the kind `concurrent`: its only window is 0, and never ends. */
  readonly periodMs: number;
  /** Null for none: then what is wanted is granted. */
  readonly capRequests: number | null;
  readonly capSlots: number | null;
  readonly units: UnitsStated;
  /** Charged tokens, of this host's own windows: `window` is reckoned by its own clock. */
  readonly tokens: Halves;
  readonly slots: {
    /** Those that requests of this host hold, and those granted to it that it still keeps. */
    readonly inUse: number;
    readonly wanted: number;
  };
}

/** Units are granted requests. All but `wanted` is of `window` and the one before it. */
interface UnitsStated {
  /** The window of the last reply, or the host's own reckoning before there was one. */
  readonly window: number;
  /** Used since the daemon's start, whether they had been granted or not. */
  readonly spent: number;
  readonly spentBefore: number;
  /** Granted in `window`, and neither used nor given back: they end with it. */
  readonly held: number;
  /**
   * What earlier lives of the daemon count: those of the last reply, and before there was one, what
   * the daemon read from its disk. The engine keeps the larger one of these and its own.
   */
  readonly frozen: number;
  readonly frozenBefore: number;
  readonly wanted: number;
}

/**
 * - `synced`: done as asked. Nothing is granted while `settlingMs` is above 0.
 * - `stale`: a later question of this host has been answered. Nothing has changed.
 * - `stale_generation`: the rule was reset, and this host doesn't know. Nothing has changed.
 * - `superseded`: a later start of a daemon with this host's id has asked. Nothing has changed.
 * - `unusable`: the engine keeps something else under the counter's name. Nothing has changed.
 * - `away`: the counter's part of the engine doesn't answer, and others do. Whether it has heard of
 *   the question isn't known.
 *
 * `nowMs`, `window` and `totals` are true in all but the last two, the rest in `synced` alone.
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
  /** Units that this host holds from now on, beside `held`, until `window` ends. */
  readonly granted: number;
  readonly slotsGranted: number;
  readonly frozen: number;
  readonly frozenBefore: number;
  /** How long the engine grants nothing of this counter, since it has lost what hosts told it. */
  readonly settlingMs: number;
}

/** Of all hosts, by the engine's clock, and after the grant. */
export interface CounterTotals {
  readonly nowMs: number;
  /**
   * The engine's window: floor(nowMs ÷ periodMs). When it is below that of the question (the
   * engine's clock was set back), all that was stated counts in it.
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

export interface CounterRead extends CounterName {
  readonly periodMs: number;
  /** Requests and tokens that were counted under a lower one count no more. */
  readonly generation: number;
}

/**
 * Both reject with `EngineAwayError` as a whole when none is answered within about a second:
 * whether the engine has heard of any of them isn't known. Its answers can't come later.
 */
export interface SharedLimits {
  /** One reply to each, in order. Questions of one call have different counters. */
  sync(questions: readonly SyncQuestion[]): Promise<readonly SyncReply[]>;
  /** `nowMs` is 0 where the engine hasn't said. */
  read(counters: readonly CounterRead[]): Promise<readonly CounterTotals[]>;
}
