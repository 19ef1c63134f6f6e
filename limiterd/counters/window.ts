/**
 * The sliding-window estimate (CONTRACT section 4): two counts per dimension, aligned to the epoch,
 * and the exact arithmetic of estimate and wait. Caps, rules and clocks are not here.
 */
import { assert } from "../../shared/assert.js";

/** Requests and tokens of one counter; both dimensions share the period and so the bounds. */
export interface Window {
  startMs: number;
  previousRequests: number;
  currentRequests: number;
  previousTokens: number;
  currentTokens: number;
}

/**
 * Up to here the quotient of two integers, rounded to a double, lies on the right side of every
 * integer: two bits below 2^53.
 */
const exactQuotientMax = 2 ** 51;

/** An empty window that holds `nowMs`. */
export function newWindow(periodMs: number, nowMs: number): Window {
  return {
    startMs: alignedStart(periodMs, nowMs),
    previousRequests: 0,
    currentRequests: 0,
    previousTokens: 0,
    currentTokens: 0,
  };
}

/** Forgets all counts; the bounds are brought to now when it is next rolled. */
export function clearWindow(window: Window): void {
  window.previousRequests = 0;
  window.currentRequests = 0;
  window.previousTokens = 0;
  window.currentTokens = 0;
}

/** A gauge's rule has no window: its start is 0 for good. */
function alignedStart(periodMs: number, nowMs: number): number {
  return periodMs === 0 ? 0 : nowMs - (nowMs % periodMs);
}

/**
 * Brings a window to `nowMs`: one period on, current becomes previous; further on, both are 0. A
 * clock that steps back within a period leaves the window where it is; one that steps back further
 * moves the bounds with it. No count is lost either way.
 */
export function rollWindow(window: Window, periodMs: number, nowMs: number): void {
  const ageMs = nowMs - window.startMs;
  if (ageMs < periodMs) {
    if (ageMs < -periodMs) window.startMs = alignedStart(periodMs, nowMs);
    return;
  }
  if (periodMs === 0) return;
  const oneOn = ageMs < 2 * periodMs;
  window.previousRequests = oneOn ? window.currentRequests : 0;
  window.previousTokens = oneOn ? window.currentTokens : 0;
  window.currentRequests = 0;
  window.currentTokens = 0;
  window.startMs = alignedStart(periodMs, nowMs);
}

/**
 * Adds counts to the half of a rolled window in which `atMs` lies; what is older than both is past
 * counting.
 */
export function addToWindow(
  window: Window,
  periodMs: number,
  atMs: number,
  requests: number,
  tokens: number,
): void {
  if (atMs >= window.startMs) {
    window.currentRequests = bounded(window.currentRequests + requests);
    window.currentTokens = bounded(window.currentTokens + tokens);
  } else if (atMs >= window.startMs - periodMs) {
    window.previousRequests = bounded(window.previousRequests + requests);
    window.previousTokens = bounded(window.previousTokens + tokens);
  }
}

/**
 * Counts stay safe integers: at 2^53 − 1 they stop, which is above every cap; and at 0, when a
 * request is withdrawn that a reset has forgotten.
 */
function bounded(count: number): number {
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.max(count, 0);
}

/** Milliseconds of the previous window that still weigh at `nowMs`. */
function remainingMs(window: Window, periodMs: number, nowMs: number): number {
  const left = window.startMs + periodMs - nowMs;
  return Math.min(left, periodMs);
}

export function estimateRequests(window: Window, periodMs: number, nowMs: number): number {
  return estimate(
    window.previousRequests,
    window.currentRequests,
    remainingMs(window, periodMs, nowMs),
    periodMs,
  );
}

export function estimateTokens(window: Window, periodMs: number, nowMs: number): number {
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
  return bounded(weighed + current);
}

/**
 * Whole seconds from `nowMs`, at least 1, after which the request estimate is below `cap`. The
 * window is rolled and at or above the cap.
 */
export function waitForRequests(
  window: Window,
  periodMs: number,
  nowMs: number,
  cap: number,
): number {
  return waitSeconds(
    window.previousRequests,
    window.currentRequests,
    window.startMs + periodMs,
    periodMs,
    nowMs,
    cap,
  );
}

/** As `waitForRequests`, for tokens. */
export function waitForTokens(
  window: Window,
  periodMs: number,
  nowMs: number,
  cap: number,
): number {
  return waitSeconds(
    window.previousTokens,
    window.currentTokens,
    window.startMs + periodMs,
    periodMs,
    nowMs,
    cap,
  );
}

/**
 * The estimate only falls while nothing is counted, so the first millisecond at which it is below
 * the cap can be solved for: within this window as long as `current` alone is below the cap, else
 * in the next one, where `current` has become what decays.
 */
function waitSeconds(
  previous: number,
  current: number,
  endMs: number,
  periodMs: number,
  nowMs: number,
  cap: number,
): number {
  const admittedAtMs =
    current < cap
      ? endMs - remainingBelow(previous, cap - current, periodMs)
      : endMs + periodMs - remainingBelow(current, cap, periodMs);
  return Math.max(1, Math.ceil((admittedAtMs - nowMs) / 1000));
}

/**
 * The largest remaining ms for which floor(count × remaining ÷ period) is below `room`, both at
 * least 1; the whole period when it always is.
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
