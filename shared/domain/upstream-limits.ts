/**
 * The limits that a provider reports with its answers (docs/upstream-limits.md), and the policy for
 * them in the configuration.
 */

/** One limit of a provider; null: it didn't report the number. */
export interface ReportedLimit {
  /** What it counts: `requests`, `input_tokens`, `tokens_day`. */
  readonly name: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** The time until its full capacity is available again. */
  readonly resetMs: number | null;
}

export const limitNameCharsMax = 64;
/** In one answer. */
export const reportedLimitsMax = 16;

/** `observe`: only shown. `avoid`: an exhausted target gets no request until the reset. */
export const upstreamLimitModes = ["observe", "avoid", "off"] as const;
export type UpstreamLimitMode = (typeof upstreamLimitModes)[number];

/** The bounds of a cap that follows a target's latency. */
export interface AdaptiveConcurrency {
  readonly min: number;
  readonly max: number;
}

/** The daemon's policy for the reports of one provider. */
export interface UpstreamPolicy {
  readonly mode: UpstreamLimitMode;
  /** Whether `remaining: 0` counts, or only a 429. */
  readonly trustsLimits: boolean;
  readonly adaptive: AdaptiveConcurrency | null;
}

/** Whether the limiter may refuse a request because of what the provider reports. */
export function isJudged({ mode, adaptive }: UpstreamPolicy): boolean {
  return mode === "avoid" || adaptive !== null;
}

/**
 * Whether a limit doesn't refuse requests. Beyond those of Anthropic's priority tier and fast mode
 * a request is served as a standard one, and the one of usage on demand includes the others.
 */
export function isAdvisory(name: string): boolean {
  return /^(?:priority|fast)_|_usage_based$/.test(name);
}
