/**
 * Latencies of one phase in fixed buckets: recording allocates nothing, quantiles are exact to 0.1
 * %.
 */
import { assert } from "../../../shared/assert.js";

export interface Histogram {
  /** Whole or fractional microseconds from 0 up. */
  record(us: number): void;
  /** The value below which the share `q` (0…1) of the records lies; 0 for no records. */
  quantileUs(q: number): number;
}

// Up to `exactBelow` each microsecond has its bucket; above it, each doubling has
// `bucketsPerDoubling`.
const exactBelow = 2048;
const bucketsPerDoubling = 1024;
const doublings = 20;

export function createHistogram(): Histogram {
  const buckets = new Uint32Array(exactBelow + doublings * bucketsPerDoubling);
  let records = 0;
  return {
    record(us) {
      const at = bucketOf(us);
      buckets[at] = buckets[at]! + 1;
      records++;
    },
    quantileUs(q) {
      assert(q >= 0 && q <= 1, "a quantile is a share");
      const wanted = Math.max(1, Math.ceil(records * q));
      let seen = 0;
      for (let at = 0; at < buckets.length; at++) {
        seen += buckets[at]!;
        if (seen >= wanted) return middleOf(at);
      }
      return 0;
    },
  };
}

function bucketOf(us: number): number {
  const whole = Math.min(Math.max(0, Math.trunc(us)), 0x7fff_ffff);
  if (whole < exactBelow) return whole;
  const shift = 21 - Math.clz32(whole);
  return exactBelow + (shift - 1) * bucketsPerDoubling + (whole >>> shift) - bucketsPerDoubling;
}

function middleOf(bucket: number): number {
  if (bucket < exactBelow) return bucket;
  const shift = Math.floor((bucket - exactBelow) / bucketsPerDoubling) + 1;
  const lead = ((bucket - exactBelow) % bucketsPerDoubling) + bucketsPerDoubling;
  return (lead + 0.5) * 2 ** shift;
}
