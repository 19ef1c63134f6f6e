/**
 * The port to the counters that all hosts share. Every question reports all that this host counts,
 * in absolute values, so that repeated questions, lost replies and lost data of the engine need no
 * memory of earlier questions. How the engine answers is in `counter-scripts.ts`; how the host uses
 * an answer isn't here.
 */

import type { Halves } from "./halves.js";

/** A counter: a rule's own, with `child` empty, or that of one child of a template. */
export interface CounterName {
  readonly ruleId: string;
  readonly child: string;
}

export interface SyncQuestion extends CounterName {
  /**
   * The rule's generation, which each reset raises: a higher one drops everything counted below it.
   */
  readonly generation: number;
  /** Grows with each question since the daemon's start; from 1. */
  readonly seq: number;
  /**
   * The engine's time in the last reply `synced` about this counter, under this generation and
   * since the daemon's start; 0 before the first. An engine that doesn't know of that reply has
   * lost data.
   */
  readonly syncedMs: number;
  /** 0 for a rule of the kind `concurrent`: its only window is 0, and never ends. */
  readonly periodMs: number;
  /** Null: no cap, and everything wanted is granted. */
  readonly capRequests: number | null;
  readonly capSlots: number | null;
  readonly units: UnitsStated;
  /** Charged tokens in this host's own windows: `window` follows its own clock. */
  readonly tokens: Halves;
  readonly slots: {
    /** Slots that requests of this host hold, and granted ones that it still keeps. */
    readonly inUse: number;
    readonly wanted: number;
  };
}

/** Units are granted requests. All but `wanted` is of `window` and the one before it. */
interface UnitsStated {
  /** The window of the last reply, or the host's own reckoning before there was one. */
  readonly window: number;
  /** Used since the daemon's start, granted or not. */
  readonly spent: number;
  readonly spentBefore: number;
  /** Granted in `window`, neither used nor given back: they end with it. */
  readonly held: number;
  /**
   * The counts of earlier runs of the daemon: from the last reply, or before that, from its disk.
   * The engine keeps the larger of these and its own.
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
  /** Units granted to this host, in addition to `held`, until `window` ends. */
  readonly granted: number;
  readonly slotsGranted: number;
  readonly frozen: number;
  readonly frozenBefore: number;
  /** How long the engine grants nothing of this counter because it has lost data. */
  readonly settlingMs: number;
}

/** The counts of all hosts, by the engine's clock, after the grant. */
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
  /** The rule's generation: requests and tokens counted under a lower one don't count. */
  readonly generation: number;
}

/**
 * Both methods reject with `EngineAwayError` if nothing is answered within about a second: the
 * engine may or may not have received the questions. Answers can't come later.
 */
export interface SharedLimits {
  /** One reply to each, in order. Questions of one call have different counters. */
  sync(questions: readonly SyncQuestion[]): Promise<readonly SyncReply[]>;
  /** `nowMs` is 0 where the engine hasn't answered. */
  read(counters: readonly CounterRead[]): Promise<readonly CounterTotals[]>;
}
