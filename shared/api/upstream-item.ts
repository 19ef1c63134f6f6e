/** The answer of GET /admin/upstream-limits (docs/upstream-limits.md). */
import type { UpstreamLimitMode } from "../domain/upstream-limits.js";

/** A limit as the provider last reported it; null: a number that it doesn't report. */
export interface LearnedLimit {
  readonly name: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resets_in_seconds: number | null;
  readonly reported_at: string;
}

export interface UpstreamTargetItem {
  readonly provider: string;
  readonly model: string;
  readonly mode: UpstreamLimitMode;
  readonly limits: readonly LearnedLimit[];
  /** Null before its first report. */
  readonly reported_at: string | null;
  /** The provider's 429s since the daemon started. */
  readonly refusals: number;
  /** Whether it gets no request because of the provider's own limits. */
  readonly saturated: boolean;
  /** The exhausted limit, if the provider names it. */
  readonly saturated_by: string | null;
  /** In seconds; 0 if it isn't saturated. */
  readonly retry_after: number;
  /** Null unless the limiter judges requests to this target by the reports. */
  readonly in_flight: number | null;
  readonly adaptive: {
    readonly min: number;
    readonly max: number;
    readonly cap: number;
    /** The time until answers begin, relative to the lowest. */
    readonly slowdown: number;
  } | null;
}

export interface UpstreamTargetPage {
  readonly upstream_limits: readonly UpstreamTargetItem[];
  readonly server_time: string;
}
