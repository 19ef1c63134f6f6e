/** Timestamps as the outside sees them: RFC 3339 in UTC (CONTRACT section 1). No clock is read here. */

/** With milliseconds, for `server_time`. */
export function formatMillis(ms: number): string {
  return new Date(ms).toISOString();
}

/** Whole seconds, for everything else. */
export function formatSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
