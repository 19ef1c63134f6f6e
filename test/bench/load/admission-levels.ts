/**
 * The loads of the daemon part, and what a limiter under one of them is called in the results.
 * Pure.
 */

/** Admissions in flight. The last is the one that the reach speaks of. */
export const inFlightLevels = [1, 16, 128] as const;

/** `daemon` limits alone, as Redis does; `daemon+usage` writes a record of each request too. */
export type LimiterName = "daemon" | "daemon+usage" | "redis";

export function atLevel(limiter: LimiterName, inFlight: number): string {
  return `${limiter} ${inFlight}`;
}
