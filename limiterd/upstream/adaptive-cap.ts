/**
 * A cap on the requests in flight at a target that reports no limits, such as vLLM or Ollama: it
 * follows the time until answers begin, as TCP Vegas and Netflix's concurrency-limits do. While
 * that time stays near its base, the cap grows; once requests wait at the target, it shrinks in
 * proportion, to a little less than what the target can work on. So each shrinking also measures
 * the base again, without a queue.
 *
 * Long prompts take longer than short ones, so each class of requests (`size`) has its own base,
 * which follows the medians of its times.
 */
import type { AdaptiveConcurrency } from "../../shared/domain/upstream-limits.js";

/** An answer that began. */
interface AnswerTime {
  readonly startedMs: number;
  readonly nowMs: number;
  readonly firstByteMs: number;
  /** The class of the request: of similar length, streamed or not. */
  readonly size: number;
  /** Requests in flight at the target, this one included. */
  readonly inFlight: number;
}

/** If times are above their base by more than this factor, requests wait at the target. */
const tolerance = 1.2;
/** The median of a class needs this many samples. */
const classSamplesMin = 5;
/** The bounds on the samples of a window, after which the cap is judged. */
const samplesMin = 20;
const samplesMax = 120;
/** How many classes are measured. */
const sizesMax = 64;

export class AdaptiveCap {
  readonly #bounds: AdaptiveConcurrency;
  /** The cap with its fraction, so that small caps grow and shrink in proportion, too. */
  #exact: number;
  /** Whether no request has waited yet; until then the cap doubles. */
  #isStarting = true;
  /** When the cap last changed: only requests sent since then measure it. */
  #changedMs = -Infinity;
  /** The time until answers begin without a queue, by class. */
  readonly #bases = new Map<number, number>();
  /** The times of the current window, by class. */
  #times = new Map<number, number[]>();
  #samples = 0;
  #inFlightMax = 0;
  #slowdown = 1;

  constructor(bounds: AdaptiveConcurrency) {
    this.#bounds = bounds;
    this.#exact = bounds.min;
  }

  get cap(): number {
    return Math.floor(this.#exact);
  }

  /** The time until answers begin, relative to its base. */
  get slowdown(): number {
    return this.#slowdown;
  }

  noteAnswer({ startedMs, nowMs, firstByteMs, size, inFlight }: AnswerTime): void {
    if (startedMs < this.#changedMs) return;
    const times = this.#times.get(size);
    if (times !== undefined) times.push(Math.max(1, firstByteMs));
    else if (this.#times.size < sizesMax) this.#times.set(size, [Math.max(1, firstByteMs)]);
    this.#samples++;
    this.#inFlightMax = Math.max(this.#inFlightMax, inFlight);
    if (this.#samples >= Math.min(samplesMax, Math.max(samplesMin, 2 * this.cap)))
      this.#judge(nowMs);
  }

  /** The target refused a request because it is overloaded, or didn't answer. */
  noteOverload(startedMs: number, nowMs: number): void {
    if (startedMs < this.#changedMs) return;
    this.#isStarting = false;
    this.#change(this.#exact * 0.8, nowMs);
  }

  #judge(nowMs: number): void {
    const slowdown = this.#meanSlowdown();
    if (slowdown === null) {
      // Too many classes for medians: the window goes on, within its bound.
      if (this.#samples >= 4 * samplesMax) this.#change(this.#exact, nowMs);
      return;
    }
    this.#slowdown = slowdown;
    if (slowdown > tolerance) {
      this.#isStarting = false;
      return this.#change(this.#exact * Math.max(0.5, 0.95 / slowdown), nowMs);
    }
    // While the cap isn't reached, times say nothing about a higher one.
    if (this.#inFlightMax < this.cap * 0.9) return this.#change(this.#exact, nowMs);
    const growth = this.#isStarting ? this.#exact : Math.max(1, this.#exact * 0.05);
    this.#change(this.#exact + growth, nowMs);
  }

  /** The mean slowdown of the classes with enough samples; null without any. */
  #meanSlowdown(): number | null {
    let sum = 0;
    let samples = 0;
    for (const [size, times] of this.#times) {
      if (times.length < classSamplesMin) continue;
      const median = medianOf(times);
      sum += times.length * (median / this.#baseWith(size, median));
      samples += times.length;
    }
    return samples === 0 ? null : sum / samples;
  }

  /**
   * Moves the base of a class towards a median, and returns it. It falls fast and rises slowly,
   * because a time in a queue must not become the base. At the lowest cap it also rises fast: no
   * cap makes the queue shorter.
   */
  #baseWith(size: number, median: number): number {
    let base = this.#bases.get(size);
    if (base === undefined) {
      if (this.#bases.size >= sizesMax) this.#bases.clear();
      base = median;
    } else if (median < base || this.#exact <= this.#bounds.min) base += (median - base) * 0.3;
    else base += Math.min(median - base, base * 0.01);
    this.#bases.set(size, base);
    return base;
  }

  #change(exact: number, nowMs: number): void {
    const { min, max } = this.#bounds;
    this.#exact = Math.min(max, Math.max(min, exact));
    this.#changedMs = nowMs;
    this.#times = new Map();
    this.#samples = 0;
    this.#inFlightMax = 0;
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
