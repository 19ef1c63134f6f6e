/**
 * Sliding windows: a window has counts of the current period and of the one before it (its two
 * halves), aligned to the epoch. Here are the exact arithmetic of the sliding estimate, and of the
 * wait until there is room. Not here: caps, rules and clocks.
 */
import { assert } from "../../shared/assert.js";
import { isCount } from "../../shared/checked.js";
import { isMoment } from "../../shared/time.js";

/** The counts of one counter, requests and tokens, in both halves. */
export interface Window {
  startMs: number;
  previousRequests: number;
  currentRequests: number;
  previousTokens: number;
  currentTokens: number;
}

/**
 * This host's share of a counter that several hosts share, for verdicts, charges and lists: what
 * the engine has granted to this host, and what all hosts have counted. The counter's own window
 * still counts only this host.
 */
export interface CounterShare {
  /** The wait for a request, in seconds; 0 if it may be counted now. */
  waitOfRequests(own: Window, cap: number, nowMs: number): number;
  /** As `waitOfRequests`, for tokens. */
  waitOfTokens(own: Window, cap: number, nowMs: number): number;
  /** The wait until this host has claimed what is needed of a hard cap; 0 if it has. */
  waitOfClaim(own: Window, needs: ClaimNeeds, nowMs: number): number;
  /** What this host may still use of a hard cap, including what its requests hold. */
  leftOfClaim(own: Window, nowMs: number): number;
  /** Whether a gauge is full, of which this host has so many requests in flight. */
  isFull(inFlight: number, cap: number): boolean;
  /** The engine's time; `ownNowMs` while it isn't known. */
  timeMs(ownNowMs: number): number;
  /** Notes a counted request, with or without a granted unit. */
  counted(own: Window): void;
  /** Takes back a request that was counted in this batch of the journal. */
  withdrawn(lsn: number): void;
  /** Notes charged tokens. */
  charged(tokens: number): void;
  /** Notes slots taken or freed without a verdict. */
  changed(): void;
  /** Requests fresh counts for display, unless they are fresh already. */
  look(): void;
  /** The counts of all hosts, by the engine's clock. */
  view(own: Window, inFlight: number, nowMs: number): SharedView;
}

/**
 * What a request needs of a hard cap at least, what it wants, and what running requests hold
 * (`held`).
 */
export interface ClaimNeeds {
  readonly held: number;
  readonly need: number;
  readonly want: number;
}

/** The shares of one rule's counters, by child; "" for the rule's own counter. */
export interface RuleShares {
  /** The share, made if needed. */
  of(child: string, own: Window): CounterShare;
  /** The share, if it exists. */
  find(child: string): CounterShare | null;
  delete(child: string): void;
  /** Starts again after a reset of the rule. */
  reset(): void;
}

export interface SharedView {
  readonly window: Window;
  readonly nowMs: number;
  readonly inFlight: number;
}

/**
 * Up to this product of integers, two bits below 2^53, its quotient by an integer is exact enough:
 * rounding it to a double never reaches the next integer.
 */
const exactQuotientMax = 2 ** 51;

/** An empty window that contains `nowMs`. */
export function newWindow(periodMs: number, nowMs: number): Window {
  return {
    startMs: alignedStart(periodMs, nowMs),
    previousRequests: 0,
    currentRequests: 0,
    previousTokens: 0,
    currentTokens: 0,
  };
}

/** Clears all counts; the bounds move to the current time at the next roll. */
export function clearWindow(window: Window): void {
  window.previousRequests = 0;
  window.currentRequests = 0;
  window.previousTokens = 0;
  window.currentTokens = 0;
}

/** A rule without a period has no window: its start is always 0. */
function alignedStart(periodMs: number, nowMs: number): number {
  return periodMs === 0 ? 0 : nowMs - (nowMs % periodMs);
}

/**
 * Rolls a window to `nowMs`. In the next period, the current counts become the previous ones;
 * later, both are 0. If the clock was set back by less than a period, the window stays as it is; if
 * by more, its bounds move back with the clock. No counts are lost.
 */
export function rollWindow(window: Window, periodMs: number, nowMs: number): void {
  const ageMs = nowMs - window.startMs;
  if (ageMs < periodMs) {
    if (ageMs < -periodMs) window.startMs = alignedStart(periodMs, nowMs);
    return;
  }
  if (periodMs === 0) return;
  const isNextPeriod = ageMs < 2 * periodMs;
  window.previousRequests = isNextPeriod ? window.currentRequests : 0;
  window.previousTokens = isNextPeriod ? window.currentTokens : 0;
  window.currentRequests = 0;
  window.currentTokens = 0;
  window.startMs = alignedStart(periodMs, nowMs);
}

/**
 * The start of the half of a rolled window that contains `atMs`; null if it is older than both
 * halves and no longer counts.
 */
export function halfOf({ startMs }: Window, periodMs: number, atMs: number): number | null {
  if (atMs >= startMs) return startMs;
  return atMs >= startMs - periodMs ? startMs - periodMs : null;
}

/** Adds to the half that begins at `startMs` (see `halfOf`). */
export function addCounts(window: Window, startMs: number, requests: number, tokens: number): void {
  if (startMs === window.startMs) {
    window.currentRequests = clampCount(window.currentRequests + requests);
    window.currentTokens = clampCount(window.currentTokens + tokens);
  } else {
    window.previousRequests = clampCount(window.previousRequests + requests);
    window.previousTokens = clampCount(window.previousTokens + tokens);
  }
}

/**
 * Counts stay safe integers: they stop at 2^53 − 1, above every cap. They stop at 0 if a request is
 * taken back that a reset has already cleared.
 */
function clampCount(count: number): number {
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.max(count, 0);
}

/** Milliseconds of the previous half that still count at `nowMs`. */
function remainingMs(window: Window, periodMs: number, nowMs: number): number {
  const msLeft = window.startMs + periodMs - nowMs;
  return Math.min(msLeft, periodMs);
}

export function estimateRequests(window: Window, periodMs: number, nowMs: number): number {
  return estimate(
    window.previousRequests,
    window.currentRequests,
    remainingMs(window, periodMs, nowMs),
    periodMs,
  );
}

export function slidingTokens(window: Window, periodMs: number, nowMs: number): number {
  return estimate(
    window.previousTokens,
    window.currentTokens,
    remainingMs(window, periodMs, nowMs),
    periodMs,
  );
}

/** floor(previous × remaining ÷ period) + current, exact. */
function estimate(previous: number, current: number, leftMs: number, periodMs: number): number {
  if (previous === 0) return current;
  const product = previous * leftMs;
  const weighed =
    product <= exactQuotientMax
      ? Math.floor(product / periodMs)
      : Number((BigInt(previous) * BigInt(leftMs)) / BigInt(periodMs));
  return clampCount(weighed + current);
}

/**
 * Whole seconds until the request estimate is below `cap`; 0 if it is now. The window must be
 * rolled to `nowMs`.
 */
export function waitForRequests(
  window: Window,
  periodMs: number,
  nowMs: number,
  cap: number,
): number {
  if (estimateRequests(window, periodMs, nowMs) < cap) return 0;
  const { previousRequests, currentRequests } = window;
  const roomAtMs =
    endOf(window, periodMs) + msToRoom(previousRequests, currentRequests, periodMs, cap);
  return wholeSeconds(roomAtMs - nowMs);
}

/** As `waitForRequests`, for tokens. */
export function waitForTokens(
  window: Window,
  periodMs: number,
  nowMs: number,
  cap: number,
): number {
  if (slidingTokens(window, periodMs, nowMs) < cap) return 0;
  const { previousTokens, currentTokens } = window;
  const roomAtMs = endOf(window, periodMs) + msToRoom(previousTokens, currentTokens, periodMs, cap);
  return wholeSeconds(roomAtMs - nowMs);
}

/**
 * Whole seconds until one of the estimates reaches its cap if the counts of the current half
 * continue at their pace. Null if none will, or if one has already. In the first minute or quarter
 * of a half, the pace is that of the estimate instead. A null cap is no cap. The window must be
 * rolled to `nowMs`.
 */
export function secondsToCaps(
  window: Window,
  periodMs: number,
  nowMs: number,
  caps: { readonly maxRequests: number | null; readonly maxTokens: number | null },
): number | null {
  const { previousRequests, currentRequests, previousTokens, currentTokens } = window;
  const leftMs = remainingMs(window, periodMs, nowMs);
  const requestsMs = msToCap(
    previousRequests,
    currentRequests,
    { periodMs, leftMs },
    caps.maxRequests,
  );
  const tokensMs = msToCap(previousTokens, currentTokens, { periodMs, leftMs }, caps.maxTokens);
  const ms = Math.min(requestsMs ?? Number.POSITIVE_INFINITY, tokensMs ?? Number.POSITIVE_INFINITY);
  return ms === 0 || ms === Number.POSITIVE_INFINITY ? null : wholeSeconds(ms);
}

/** Null if the cap isn't reached; 0 if it is now. */
function msToCap(
  previous: number,
  current: number,
  { periodMs, leftMs }: { readonly periodMs: number; readonly leftMs: number },
  cap: number | null,
): number | null {
  if (cap === null) return null;
  const now = estimate(previous, current, leftMs, periodMs);
  if (now >= cap) return 0;
  const elapsedMs = periodMs - leftMs;
  const perMs = elapsedMs >= Math.min(periodMs / 4, 60_000) ? current / elapsedMs : now / periodMs;
  // During this half the estimate loses the counts of the previous one evenly.
  const growth = perMs - previous / periodMs;
  const ms = (cap - now) / growth;
  if (growth > 0 && ms <= leftMs) return ms;
  // During the next half it loses the counts of this one.
  const atEnd = current + perMs * leftMs;
  const nextGrowth = perMs - atEnd / periodMs;
  const nextMs = (cap - atEnd) / nextGrowth;
  return nextGrowth > 0 && nextMs <= periodMs ? leftMs + Math.max(0, nextMs) : null;
}

/** When the current half ends. */
function endOf(window: Window, periodMs: number): number {
  return window.startMs + periodMs;
}

/** A wait in whole seconds, at least 1. */
export function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/**
 * When the estimate will be below the cap, in milliseconds from the end of the current half.
 * Without new counts the estimate only falls, so the time can be calculated: before that end if
 * `current` alone is below the cap, else in the next period, in which `current` decays.
 */
function msToRoom(previous: number, current: number, periodMs: number, cap: number): number {
  return current < cap
    ? -remainingBelow(previous, cap - current, periodMs)
    : periodMs - remainingBelow(current, cap, periodMs);
}

/**
 * The largest remaining ms for which floor(count × remaining ÷ period) is below `room`; the whole
 * period if it always is. `count` and `room` are at least 1.
 */
function remainingBelow(count: number, room: number, periodMs: number): number {
  if (count < room) return periodMs;
  const product = room * periodMs;
  // count × r < room × period, so r is the ceiling of the quotient, less one.
  const largest =
    product <= exactQuotientMax
      ? Math.ceil(product / count) - 1
      : Number((BigInt(room) * BigInt(periodMs) + BigInt(count) - 1n) / BigInt(count)) - 1;
  assert(largest >= 0 && largest <= periodMs, "a wait lies within two windows");
  return largest;
}

/**
 * `windows`: [startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn], by
 * rule id and child.
 */
export interface StoredWindow {
  readonly startMs: number;
  readonly previousRequests: number;
  readonly currentRequests: number;
  readonly previousTokens: number;
  readonly currentTokens: number;
  /** The window includes every charge up to this log sequence number. */
  readonly lsn: number;
}

export function windowKey(ruleId: string, child: string): string {
  return `${ruleId}\n${child}`;
}

/** The rule id and the child of a window's key. */
export function splitWindowKey(key: string): { readonly ruleId: string; readonly child: string } {
  const separator = key.lastIndexOf("\n");
  return { ruleId: key.slice(0, separator), child: key.slice(separator + 1) };
}

export function windowToStored(window: Omit<StoredWindow, "lsn">, lsn: number): readonly unknown[] {
  return [
    window.startMs,
    window.previousRequests,
    window.currentRequests,
    window.previousTokens,
    window.currentTokens,
    lsn,
  ];
}

export function windowFromStored(value: readonly unknown[]): StoredWindow | null {
  if (value.length !== 6 || !value.every((item) => isCount(item))) return null;
  const [startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn] =
    value as [number, number, number, number, number, number];
  if (!isMoment(startMs)) return null;
  return { startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn };
}
